package explore

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/plan/move"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// hands checks what becomes of Services that people edited, and gave other names, and of the pods that are left where they deleted others.
func (r *rules) hands(p sim.Pass, s spec.Rollout) {
	status := after(p)
	if status.Phase == v1alpha1.RolloutPhaseDegraded && invalid(&v1alpha1.Rollout{Status: status}, "") || len(p.Plan.Needs) > 0 {
		return // nothing is routed until a user has corrected what is wrong
	}
	if p.Observed.CreateFailure == nil && !p.Plan.Writes() && s.PodHash != status.CurrentPodHash {
		return // an update does not begin before a ReplicaSet has reported the pod that was restarted a moment ago; then a pass does all of it
	}
	if p.Observed.CreateFailure != nil && wrongService(p.Observed, s) {
		return // nor here: the status reports the ReplicaSet first, and the Service only once there is one
	}
	r.released(p, s, status)
	switch strategy := s.Strategy.(type) {
	case spec.BlueGreen:
		r.lastPods(p, s)
		frozen := p.Observed.Rollout.Spec.Paused && (!status.Abort || status.StableRS == status.CurrentPodHash) // an abort of nothing moves nothing
		if !frozen && s.Replicas > 0 {
			r.activeRepaired(p, strategy, status)
		}
	case spec.Canary:
		r.canaryRepaired(p, strategy, status)
	}
}

// wrongService reports whether something is wrong with one of the Services that the spec names, so that nothing is routed.
func wrongService(o plan.Observed, s spec.Rollout) bool {
	return slices.ContainsFunc(spec.Services(o.Rollout), func(ref spec.Reference) bool {
		i := slices.IndexFunc(o.Services, func(s *corev1.Service) bool { return s.Name == ref.Name })
		if i < 0 {
			return true
		}
		wants := maps.Clone(o.Services[i].Spec.Selector)
		delete(wants, v1alpha1.PodTemplateHashLabel)
		owner := o.Services[i].Annotations[v1alpha1.ManagedByAnnotation]
		return spec.ServiceType(o.Services[i]) != "" || owner != "" && owner != o.Rollout.Name ||
			!labels.SelectorFromSet(wants).Matches(labels.Set(s.Template.Labels))
	})
}

// lastPods checks that the last available pods of a Rollout are not deleted when the version that served is gone.
func (r *rules) lastPods(p sim.Pass, s spec.Rollout) {
	from, status := p.Observed.Rollout.Status, after(p)
	if from.StableRS == "" || status.StableRS == status.CurrentPodHash || find(p.Observed, from.StableRS) != nil {
		return
	}
	before, left := 0, 0
	for _, rs := range p.Observed.ReplicaSets {
		n := carries(rs)
		before += n
		for _, c := range p.Plan.Shrink {
			if u, ok := c.(change.UpdateReplicaSet); ok && u.From.Name == rs.Name {
				n = min(n, replicas(u.To))
			}
		}
		left += n
	}
	if s.Replicas > 0 && before > 0 && left == 0 {
		r.history.fail("last", "the last %d available pods are deleted: %s", before, summary(r.world))
	}
}

// released checks that no Service is given back to the pods of several versions in the middle of an update, where Services and routes say who
// gets what.
func (r *rules) released(p sim.Pass, s spec.Rollout, status v1alpha1.RolloutStatus) {
	if c, ok := s.Strategy.(spec.Canary); ok && c.Traffic == nil {
		return
	}
	for _, c := range p.Plan.Route {
		u, ok := c.(change.UpdateService)
		if !ok || u.To.Annotations[v1alpha1.ManagedByAnnotation] != "" || selected(u.From) == "" {
			continue
		}
		for _, rs := range p.Observed.ReplicaSets {
			if n := max(replicas(rs), int(rs.Status.Replicas)); hashOf(rs) != status.StableRS && n > 0 {
				r.history.fail(move.Release.Name, "%s is given back and would send to %d pods of %s", u.From.Name, n, rs.Name)
			}
		}
	}
}

// activeRepaired checks that a pass leaves the active Service at a version that may serve, and that can if any can.
func (r *rules) activeRepaired(p sim.Pass, b spec.BlueGreen, status v1alpha1.RolloutStatus) {
	service := selectedAfter(p, b.ActiveService)
	from := p.Observed.Rollout.Status
	if service == nil || from.BlueGreen.ActiveSelector == "" {
		return
	}
	hash, stable := selected(service), carriesBySight(p.Observed, status.StableRS)
	if stable == 0 {
		if find(p.Observed, from.StableRS) == nil && hash == r.byHand && carries(find(p.Observed, hash)) > 0 {
			r.byHand, r.served[hash] = "", true // it serves by right, being what is left
		}
		if status.StableRS != status.CurrentPodHash && find(p.Observed, from.StableRS) == nil && hash != "" && carries(find(p.Observed, hash)) == 0 && !mayComeBack(p.Observed, status, hash) {
			if left := r.anyPods(p.Observed); left != "" {
				r.history.fail("repair", "%s is left at %q, which has no pods, and %s has", b.ActiveService, hash, left)
			}
		}
		return
	}
	switch {
	case hash == status.StableRS:
	case find(p.Observed, hash) == nil:
		r.history.fail("repair", "%s is left at %q, which is no version", b.ActiveService, hash)
	case hash == status.CurrentPodHash && !r.mayServe(p.Observed, status, hash):
		if closed := r.closed(b, status, hash); closed != "" {
			r.history.fail("repair", "%s is left at %s, and %s", b.ActiveService, hash, closed)
		} else if status.BlueGreen.ScaleUpPreviewCheckPoint && hash == r.byHand {
			r.byHand, r.served[hash] = "", true // it has passed its gates since
		}
	case hash != status.CurrentPodHash && hash == r.byHand && !r.served[hash]:
		r.history.fail("repair", "%s is left at %s, where a manual edit has it", b.ActiveService, hash)
	}
}

// mayComeBack reports whether a version served last, in the place of the stable one, and its pods are asked for. It keeps the Service while they are
// not available, as a stable version does: a gate is opened by people who promote, and not by pods that fail for a moment. Who wants the new
// version to serve before they are back promotes it, as ever.
func mayComeBack(o plan.Observed, status v1alpha1.RolloutStatus, hash string) bool {
	rs := find(o, hash)
	return rs != nil && replicas(rs) > 0 && hash == o.Rollout.Status.BlueGreen.ActiveSelector && hash != status.CurrentPodHash
}

// carriesBySight is what a version carries, by its pods themselves where the pass has looked at them: a ReplicaSet reports late that one is
// gone.
func carriesBySight(o plan.Observed, hash string) int {
	n := carries(find(o, hash))
	pods, looked := o.Pods[hash]
	if !looked {
		return n
	}
	ready := 0
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}) {
			ready++
		}
	}
	return min(n, ready)
}

// anyPods is a version that has pods which serve and stay, as far as the pass saw, empty if none has.
func (r *rules) anyPods(o plan.Observed) string {
	for _, rs := range o.ReplicaSets {
		if carriesBySight(o, hashOf(rs)) > 0 && rs.Status.ObservedGeneration >= rs.Generation {
			return hashOf(rs)
		}
	}
	return ""
}

// canaryRepaired checks that a pass leaves no Service of a canary without a router at a version that is not there, where one can answer.
func (r *rules) canaryRepaired(p sim.Pass, c spec.Canary, status v1alpha1.RolloutStatus) {
	left, names := r.anyPods(p.Observed), []string{c.CanaryService.Name, c.StableService.Name}
	missing := func(name string) bool { return name != "" && selectedAfter(p, name) == nil } // and the spec cannot be carried out
	if left == "" || c.Traffic != nil || slices.ContainsFunc(names, missing) {
		return
	}
	for _, name := range names {
		if s := selectedAfter(p, name); s != nil && selected(s) != "" && find(p.Observed, selected(s)) == nil && selected(s) != status.CurrentPodHash {
			r.history.fail("repair", "%s is left at %s, which is no version", name, selected(s))
		}
	}
}

// selectedAfter is a Service as a pass leaves it, nil if there is none of that name.
func selectedAfter(p sim.Pass, name string) *corev1.Service {
	for _, c := range p.Plan.Route {
		if u, ok := c.(change.UpdateService); ok && u.From.Name == name {
			return u.To
		}
	}
	if i := slices.IndexFunc(p.Observed.Services, func(s *corev1.Service) bool { return s.Name == name }); i >= 0 {
		return p.Observed.Services[i]
	}
	return nil
}
