package hazard

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

func (f *finder) template(t *corev1.PodTemplateSpec, minReadySeconds int32) {
	const field = "spec.template.spec.containers"
	probed := false
	for i := range t.Spec.Containers {
		c := &t.Spec.Containers[i]
		probed = probed || c.ReadinessProbe != nil
		if moving(c.Image) {
			f.add(MovingImage, fmt.Sprintf("%s[%d].image", field, i),
				"%q may refer to another image tomorrow: pods of one version could differ, and an update to it would change nothing; use a tag for each version, or a digest",
				c.Image)
		}
	}
	if len(t.Spec.Containers) > 0 && !probed && minReadySeconds == 0 {
		f.add(NoReadiness, field,
			"no container has a readinessProbe, so a pod counts as available and receives traffic as soon as it runs: add one, or set minReadySeconds")
	}
}

// moving reports whether an image has no version in its name.
func moving(image string) bool {
	if image == "" || strings.Contains(image, "@") {
		return false
	}
	name := image[strings.LastIndex(image, "/")+1:] // the registry may have a port
	_, tag, tagged := strings.Cut(name, ":")
	return !tagged || tag == "latest"
}
