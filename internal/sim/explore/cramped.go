package explore

import (
	"regexp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// cramped reports whether only a person can make room for the new version: the others carry the traffic, can spare none of the pods that
// enforceMaxSurge allows, and the Rollout says so.
func (h *history) cramped() bool {
	ro, now := h.world.Rollout(), h.rules.now()
	if !now.ok || !roomier.MatchString(ro.Status.Message) {
		return false
	}
	c, ok := now.spec.Strategy.(spec.Canary)
	return ok && c.Traffic != nil && !slices.ContainsFunc(h.world.ReplicaSets(), func(rs *appsv1.ReplicaSet) bool {
		return hashOf(rs) != ro.Status.CurrentPodHash && !h.calledByFormerName(hashOf(rs)) && h.rules.spares(rs, now.spec, c)
	})
}

// calledByFormerName reports whether a Service that the spec named before still sends to a version: nobody knows how many requests come by it.
func (h *history) calledByFormerName(hash string) bool {
	ro := h.world.Rollout()
	named := spec.Services(ro)
	return slices.ContainsFunc(h.world.Services(), func(s *corev1.Service) bool {
		is := func(ref spec.Reference) bool { return ref.Name == s.Name }
		return selected(s) == hash && s.Annotations[v1alpha1.ManagedByAnnotation] == ro.Name && !slices.ContainsFunc(named, is)
	})
}

// spares reports whether a version has more pods than it needs for the traffic that it carries, and for who calls a Service by its name. A Service
// that the spec names and that selects every version may send to this one: such a version keeps all its pods.
func (r *rules) spares(rs *appsv1.ReplicaSet, s spec.Rollout, c spec.Canary) bool {
	need := 0
	if slices.ContainsFunc(r.world.Services(), func(s *corev1.Service) bool { return selected(s) == hashOf(rs) }) {
		need = 1
	}
	if slices.ContainsFunc(spec.Services(r.world.Rollout()), func(ref spec.Reference) bool {
		service := r.world.Service(ref.Name)
		return service != nil && selected(service) == ""
	}) {
		return false
	}
	for _, share := range r.split(r.picture()) {
		need = max(need, needed(s, c, share, hashOf(rs), r.world.Rollout().Status.CurrentPodHash))
	}
	return replicas(rs) > need
}

// roomier is what the message of such a Rollout asks for.
var roomier = regexp.MustCompile(`^(?:ProgressDeadlineExceeded|RolloutAborted): .* enforceMaxSurge leaves no room .*: raise canary\.maxSurge from \d+ to (\d+)$`)

// makeRoom does what the message says.
func (h *history) makeRoom() {
	enough := intstr.Parse(roomier.FindStringSubmatch(h.world.Rollout().Status.Message)[1])
	h.log("%s raise maxSurge to %s", h.world.Elapsed(), &enough)
	h.user(func() { h.world.Edit(func(ro *v1alpha1.Rollout) { ro.Spec.Strategy.Canary.MaxSurge = &enough }) })
}
