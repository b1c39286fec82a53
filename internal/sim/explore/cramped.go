package explore

import (
	"regexp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
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
		return hashOf(rs) != ro.Status.CurrentPodHash && h.rules.spares(rs, now.spec, c)
	})
}

// spares reports whether a version has more pods than it needs for the traffic that it carries.
func (r *rules) spares(rs *appsv1.ReplicaSet, s spec.Rollout, c spec.Canary) bool {
	need := 0
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
