package kubelet

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// badTag marks images that are never pulled: nginx:bad.
const badTag = "bad"

// imageTag is the tag of an image, "latest" if it has none.
func imageTag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	name := image[strings.LastIndex(image, "/")+1:]
	if _, tag, tagged := strings.Cut(name, ":"); tagged {
		return tag
	}
	return "latest"
}

// imageReference is an image in full, as a container runtime names it: nginx becomes docker.io/library/nginx:latest.
func imageReference(image string) string {
	host, _, hasPath := strings.Cut(image, "/")
	switch {
	case !hasPath:
		image = "docker.io/library/" + image
	case !strings.ContainsAny(host, ".:") && host != "localhost":
		image = "docker.io/" + image
	}
	if strings.Contains(image, "@") || strings.HasSuffix(image, ":"+imageTag(image)) {
		return image
	}
	return image + ":latest"
}

// imageID is the image by its digest, which the playground makes up from the name: equal names, equal digests.
func imageID(image string) string {
	reference := imageReference(image)
	if strings.Contains(reference, "@") {
		return reference
	}
	return strings.TrimSuffix(reference, ":"+imageTag(reference)) + "@sha256:" + digest(reference)
}

// pullError is what a container runtime says of an image that is not there.
func pullError(image string) string {
	r := imageReference(image)
	return fmt.Sprintf("rpc error: code = NotFound desc = failed to pull and unpack image %q: failed to resolve reference %q: %s: not found", r, r, r)
}

func containerID(parts ...string) string { return "containerd://" + digest(parts...) }

func digest(parts ...string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(parts, "\x00"))))
}
