package explore

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

// endOfRoutes checks that everything goes to the one version, and that nothing is left of what the controller made.
func (r *rules) endOfRoutes(s spec.Rollout) {
	if !r.history.Routed {
		return
	}
	status := r.world.Rollout().Status
	c, canary := s.Strategy.(spec.Canary)
	if !canary || c.Traffic == nil {
		for key, o := range r.world.Routes() {
			if len(routers.Owners(o, spec.Policy{})) > 0 {
				r.history.fail("end", "%s %s is not given back", key.Kind, key.Name)
			}
		}
		return
	}
	if w := status.Canary.Weights; w == nil || w.Canary.Weight != 0 || w.Stable.Weight != c.MaxWeight {
		r.history.fail("end", "the status reports the weights %v", w)
	}
	raw := r.world.Rollout().Spec.Strategy.Canary
	split := r.split(r.picture())
	for kind := range routesOf(raw, r.world.Rollout()) {
		if s.Replicas > 0 && split[kind].of(status.CurrentPodHash) != 1 {
			r.history.fail("end", "%s sends %v", kind, split[kind])
		}
	}
	for key, o := range r.world.Routes() {
		if routesOf(raw, r.world.Rollout())[key.Kind] == nil && len(routers.Owners(o, spec.Policy{})) > 0 {
			r.history.fail("end", "%s %s is not given back", key.Kind, key.Name)
		}
	}
	if o := r.history.named("TraefikService", mirroringService); o != nil {
		if mirrors, _, _ := unstructured.NestedSlice(o.Object, "spec", "mirroring", "mirrors"); len(mirrors) != 1 || len(routers.Owners(o, spec.Policy{})) > 0 {
			r.history.fail("end", "%s %s is not given back: %v", o.GetKind(), o.GetName(), o.Object)
		}
	}
	for kind, list := range map[string]string{"HTTPRoute": "rules", "VirtualService": "http"} {
		if o := r.history.route(kind); o != nil {
			if rules, _, _ := unstructured.NestedSlice(o.Object, "spec", list); len(rules) != 1 {
				r.history.fail("end", "%d %s of %s are left", len(rules), list, kind)
			}
		}
	}
}

// abortEnds checks that at rest, with all pods repaired, nothing goes to a version whose update was aborted, if there is a stable one.
func (r *rules) abortEnds() {
	status, now := r.world.Rollout().Status, r.now()
	c, canary := now.spec.Strategy.(spec.Canary)
	if !now.ok || !canary || c.Traffic == nil || now.spec.Replicas == 0 {
		return
	}
	stable := slices.ContainsFunc(r.world.ReplicaSets(), func(rs *appsv1.ReplicaSet) bool { return hashOf(rs) == status.StableRS })
	if w := status.Canary.Weights; stable && w != nil && w.Canary.Weight > 0 {
		r.history.fail("abort", "at rest an aborted update still has %d of %d: %s", w.Canary.Weight, c.MaxWeight, summary(r.world))
	}
}
