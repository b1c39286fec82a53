package facts

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// The versions of the specification, and of the types of its events.
const (
	cdeventsVersion = "0.4.1"
	cloudVersion    = "1.0"
	typeVersion     = ".0.2.0"
)

// Occurrence is what a CDEvent is about.
type Occurrence struct {
	// Source is where it happened, such as the name of the cluster.
	Source string
	// ID is the same each time that the same occurrence is told.
	ID string
	At time.Time
	// Reason is that of the Kubernetes event, empty for a state.
	Reason string
	// Incident tells the incidents of a Rollout apart: when it began. Empty if there was none.
	Incident string
	// Stable is the pod template that an abort returns to, nil if that is not known.
	Stable map[string]any
}

// CDEvent is a CloudEvent that carries a CDEvent: that a service was deployed, upgraded or rolled back, or that an incident began or ended. It is nil
// for all else.
func CDEvent(rollout map[string]any, o Occurrence) map[string]any {
	kind, incident := cdeventKind(rollout, o.Reason)
	if kind == "" || incident && o.Incident == "" {
		return nil
	}
	namespace, _, _ := unstructured.NestedString(rollout, "metadata", "namespace")
	name, _, _ := unstructured.NestedString(rollout, "metadata", "name")
	sum := sha256.Sum256([]byte(kind + "\x00" + o.ID))
	id, source := fmt.Sprintf("%x", sum[:16]), o.Source
	service := map[string]any{"id": namespace + "/" + name, "source": source}
	subject := map[string]any{"id": service["id"], "source": source, "type": "service"}
	content := map[string]any{"environment": map[string]any{"id": namespace, "source": source}}
	template, _, _ := unstructured.NestedMap(rollout, "spec", "template")
	if o.Reason == v1alpha1.EventRolloutAborted && o.Stable != nil {
		template = o.Stable
	}
	for _, image := range images(template) {
		content["artifactId"] = purl(image[1])
		break
	}
	if incident {
		subject["id"], subject["type"] = fmt.Sprintf("%s/%s/%s", namespace, name, o.Incident), "incident"
		content["service"] = service
		if description := Explain(rollout, nil); description != "" {
			content["description"] = description
		}
	}
	subject["content"] = content
	at := o.At.UTC().Format(time.RFC3339)
	kind = "dev.cdevents." + kind + typeVersion
	return map[string]any{
		"specversion": cloudVersion, "id": id, "source": source, "type": kind, "subject": subject["id"], "time": at, "datacontenttype": "application/cdevents+json",
		"data": map[string]any{
			"context": map[string]any{"version": cdeventsVersion, "id": id, "source": source, "type": kind, "timestamp": at},
			"subject": subject,
		},
	}
}

// cdeventKind is what happened in the words of CDEvents, and whether it is about an incident.
func cdeventKind(rollout map[string]any, reason string) (kind string, incident bool) {
	how, _, _ := unstructured.NestedString(rollout, "status", "duration", "completionStatus")
	revision, _, _ := unstructured.NestedString(rollout, "metadata", "annotations", v1alpha1.RevisionAnnotation)
	phase, _, _ := unstructured.NestedString(rollout, "status", "phase")
	switch {
	case reason == v1alpha1.EventRolloutAborted:
		return "service.rolledback", false
	case reason == v1alpha1.EventRolloutCompleted && IsRollback(how):
		return "service.rolledback", false
	case reason == v1alpha1.EventRolloutCompleted && revision == "1":
		return "service.deployed", false
	case reason == v1alpha1.EventRolloutCompleted:
		return "service.upgraded", false
	case reason != "":
		return "", false
	case phase == string(v1alpha1.RolloutPhaseDegraded):
		return "incident.detected", true
	case phase == string(v1alpha1.RolloutPhaseHealthy):
		return "incident.resolved", true
	}
	return "", false
}

// IsRollback reports whether an update that ended so led back to an earlier version.
func IsRollback(how string) bool {
	return how == string(v1alpha1.CompletionRolledBack) || how == string(v1alpha1.CompletionFastRolledBack)
}

// purl is an image as a package URL, such as pkg:oci/web@sha256%3Aab12?repository_url=ghcr.io/shop/web&tag=2.
func purl(image string) string {
	repository, digest, _ := strings.Cut(image, "@")
	tag := ""
	if i := strings.LastIndexByte(repository, ':'); i > strings.LastIndexByte(repository, '/') {
		repository, tag = repository[:i], repository[i+1:]
	}
	name := repository[strings.LastIndexByte(repository, '/')+1:]
	all := "pkg:oci/" + url.PathEscape(strings.ToLower(name))
	if digest != "" {
		all += "@" + url.QueryEscape(digest)
	}
	qualifiers := url.Values{}
	if repository != name {
		qualifiers.Set("repository_url", repository)
	}
	if tag != "" {
		qualifiers.Set("tag", tag)
	}
	if len(qualifiers) > 0 {
		all += "?" + qualifiers.Encode()
	}
	return all
}
