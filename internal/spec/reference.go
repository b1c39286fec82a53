package spec

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Reference is the name of another object, and the field of the spec where it stands.
type Reference struct{ Field, Name string }

// Services are the Services that a Rollout names, in the order of its spec.
func Services(ro *v1alpha1.Rollout) []Reference {
	var all []Reference
	add := func(field, name string) {
		if name != "" {
			all = append(all, Reference{field, name})
		}
	}
	if b := ro.Spec.Strategy.BlueGreen; b != nil {
		add(blueGreenField+".activeService", b.ActiveService)
		add(blueGreenField+".previewService", b.PreviewService)
	}
	if c := ro.Spec.Strategy.Canary; c != nil {
		add(canaryField+".canaryService", c.CanaryService)
		add(canaryField+".stableService", c.StableService)
		if c.PingPong != nil {
			add(canaryField+".pingPong.pingService", c.PingPong.PingService)
			add(canaryField+".pingPong.pongService", c.PingPong.PongService)
		}
	}
	return all
}

// ServiceType says why a Rollout cannot use a Service of its type, empty if it can.
func ServiceType(s *corev1.Service) string {
	if s.Spec.Type != corev1.ServiceTypeExternalName {
		return ""
	}
	return fmt.Sprintf("Service %q is of type ExternalName, which selects no pods: set spec.type of that Service to ClusterIP, or name another one", s.Name)
}

// serviceNames refuses names that no Service can have.
func (p *problems) serviceNames(ro *v1alpha1.Rollout) {
	for _, ref := range Services(ro) {
		if texts := validation.IsDNS1123Label(ref.Name); len(texts) > 0 {
			p.add(ref.Field, "%q cannot be the name of a Service: %s", ref.Name, strings.Join(texts, "; "))
		}
	}
}
