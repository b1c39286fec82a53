package move

import (
	"fmt"
	"slices"

	"github.com/sluice-delivery/sluice/internal/plan/basic"
	"github.com/sluice-delivery/sluice/internal/plan/capacity"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/restart"
	"github.com/sluice-delivery/sluice/internal/plan/target"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// ByPods moves a canary without a router.
type ByPods struct {
	scene
	mover   *Mover
	restart *restart.Restart
	canary  spec.Canary
	want    *basic.Want
	limits  capacity.Limits
}

// ByPods moves a canary without a router.
func (m *Mover) ByPods(r *restart.Restart, c spec.Canary) *ByPods {
	return &ByPods{
		scene: m.scene, mover: m, restart: r, canary: c, want: basic.New(m.world, m.update, c),
		limits: capacity.Limits{Replicas: m.world.Spec.Replicas, MaxSurge: c.MaxSurge, MaxUnavailable: c.MaxUnavailable},
	}
}

var sizesByPods = []sizeRule[*ByPods]{
	{Capacity, "surge by pods", (*ByPods).surge, ""},
	{Service, "leave one pod", (*ByPods).leaveOne, "until no service selects a version that must have no pods"},
	{Capacity, "fit by pods", (*ByPods).fit, "until others are available, or gone"},
	{Service, "keep answering", (*ByPods).keepAnswering, "until no service selects it"},
	{Live, "look at Services", (*ByPods).look, "until the API server shows that no service selects it"},
}

// Run moves Services and pods.
func (b *ByPods) Run() {
	b.update.Is.Canary.Weights, b.update.Is.Canary.StablePingPong = nil, ""
	b.draft.CheckServices()
	t := b.want.Target()
	if len(b.update.Problems) == 0 {
		only := b.onlyFitting()
		for _, s := range t.Services {
			switch {
			case s.Service == b.canary.CanaryService.Name && only != nil:
				s.Version, s.Why = only, "there is no room for pods of another version"
			case s.Service == b.canary.StableService.Name && b.takesOver():
				s.Version = b.world.New
			}
			b.mover.pointAvailable(s)
		}
		b.mover.GiveBack()
	}
	if !frozen(b.scene) {
		resize(b, b.scene, sizesOf(t.Sizes), sizesByPods)
	}
}

// surge adds a pod while pods are restarted and none may be missing.
func (b *ByPods) surge(s sizes) {
	canary, stable := s.of(b.world.New), s.of(b.world.StableBeside())
	if stable == nil || stable == canary {
		canary.to = b.restart.CountsWithSurge(capacity.Counts{Canary: canary.to}).Canary
		return
	}
	n := b.restart.CountsWithSurge(capacity.Counts{Canary: canary.to, Stable: stable.to})
	if n.Stable > stable.to {
		stable.Why += ", and one more for the restart"
	}
	canary.to, stable.to = n.Canary, n.Stable
}

// leaveOne leaves a pod to a version that is to have none, for as long as a Service selects it. The other version goes without it, where there is
// no room for one more. Where there is room for one pod only, the Service moves instead (onlyFitting).
func (b *ByPods) leaveOne(s sizes) {
	canary, stable := s.of(b.world.New), s.of(b.world.StableBeside())
	most := b.limits.Replicas + b.limits.MaxSurge
	switch {
	case stable == nil || stable == canary || most < 2:
	case canary.to == 0 && b.answers(b.world.New):
		canary.to, stable.to = 1, min(stable.to, most-1)
	case stable.to == 0 && b.answers(b.world.Stable):
		canary.to, stable.to, stable.Why = min(canary.to, most-1), 1, stable.Why+", and a service selects it still"
	}
}

// fit goes towards the sizes within replicas + maxSurge and replicas - maxUnavailable.
func (b *ByPods) fit(s sizes) {
	stable := b.world.StableBeside()
	canary, others := b.world.New.Counts(), b.world.OtherFleets()
	ideal := capacity.Counts{Canary: s.of(b.world.New).to}
	if stable != nil {
		ideal.Stable = s.of(stable).to
	}
	next := capacity.BasicCounts(b.limits, ideal, canary, stable.Counts(), others)
	s.of(b.world.New).to = next.Canary
	if stable != nil {
		s.of(stable).to = next.Stable
	}
	serving := canary.Serving() + stable.Counts().Serving()
	for _, o := range others {
		serving += o.Serving()
	}
	for i, n := range capacity.OldCounts(b.limits, serving, others) {
		s.of(&b.world.Others[i]).to = n
	}
}

// keepAnswering leaves a pod to a version that a Service selects, also where there is room for one only.
func (b *ByPods) keepAnswering(s sizes) {
	for _, one := range s {
		if one.to == 0 && b.answers(one.Version) {
			one.to = 1
		}
	}
}

// look asks for the Services as they are before a version loses its last pod.
func (b *ByPods) look(s sizes) {
	services := world.ServiceNames(b.canary)
	for _, one := range s {
		if one.to == 0 && one.shrinks() && len(services) > 0 && !b.reached(one.Version, services) && !b.unreached(one.Version, services) {
			one.stay()
		}
	}
}

// answers reports whether a version keeps a pod since one of the Services selects it, if another version has pods, or will have, that
// can answer instead. Where there is no room for any the limits leave no choice, and at 0 replicas nobody is to answer.
func (b *ByPods) answers(v *world.Version) bool {
	services := world.ServiceNames(b.canary)
	if v.Desired() == 0 || len(services) == 0 || b.world.Spec.Replicas == 0 || b.world.OnlyVersion(v) {
		return false
	}
	if b.world.AnsweredBeside(v) { // a Service that tells no versions apart needs none in particular
		services = slices.DeleteFunc(services, func(name string) bool { return b.entry(name) == entry{} })
	}
	return b.reached(v, services)
}

// takesOver reports whether the new version is about to be the only one, and can already serve for the stable one. The stable Service is
// moved then: before the last stable pod is deleted, not after it.
//
// If someone deleted the stable version, the Service may still select a superseded one. It then moves as soon as the new version can serve,
// at any step: that version has all pods.
func (b *ByPods) takesOver() bool {
	stable, gone := b.world.StableBeside(), b.world.Stable == nil && b.update.State() != progress.Settled
	if gone {
		stable = b.world.Find(b.draft.Selects(b.canary.StableService.Name))
	}
	if stable == nil || b.update.State() == progress.Aborted || !gone && b.update.Weight(b.canary) < b.canary.MaxWeight && b.onlyFitting() != b.world.New {
		return false
	}
	if b.draft.Selects(b.canary.StableService.Name) == b.update.Is.CurrentPodHash { // it has been moved; one pod that fails is no reason to go back
		return b.world.New.Counts().Serving() >= 1
	}
	return b.draft.MayNotScale() == "" && b.world.New.Counts().Serving() >= max(1, stable.Counts().Serving())
}

// onlyFitting is the version that keeps its pods when there is room for one pod but both versions have some, left from a larger
// spec.replicas, a larger maxSurge, or a router; otherwise nil. Both Services must select that version, because the other one's pod
// is not deleted while a Service selects it.
func (b *ByPods) onlyFitting() *world.Version {
	stable := b.world.StableBeside()
	if b.world.Spec.Replicas != 1 || b.canary.MaxSurge > 0 || b.world.Spec.Paused && b.update.State() != progress.Aborted || b.world.New.Desired() == 0 || stable.Desired() == 0 {
		return nil
	}
	if capacity.IdealCounts(b.world.Spec.Replicas, b.update.Weight(b.canary), b.canary.MaxWeight, b.canary.MaxSurge).Canary > 0 {
		return b.world.New
	}
	return stable
}

// Reached reports whether the pods are as the current step wants them, as far as Services let them, or else what is missing.
func (b *ByPods) Reached() (bool, string) {
	ideal := sizesOf(b.want.Target().Sizes)
	b.surge(ideal)
	b.leaveOne(ideal)
	canary, wanted := b.world.New.Counts(), ideal.of(b.world.New).to
	if !b.canary.Threshold.Met(canary.Available, wanted) {
		return false, fmt.Sprintf("%d of %d canary pods available", canary.Available, wanted)
	}
	if canary.Desired != wanted || canary.Available > wanted {
		return false, fmt.Sprintf("the canary is on its way from %d to %d pods", canary.Actual, wanted)
	}
	if v := b.world.StableBeside(); v != nil {
		if stable, wanted := v.Counts(), ideal.of(v).to; stable.Desired != wanted || stable.Actual != wanted {
			return false, fmt.Sprintf("the stable version is on its way from %d to %d pods", stable.Actual, wanted)
		}
	}
	for i := range b.world.Others {
		if n := b.world.Others[i].Status.AvailableReplicas; n > 0 {
			return false, fmt.Sprintf("%s still has %s", b.world.Others[i].Name, capacity.Pods(n))
		}
	}
	return true, ""
}

// WithoutNew has the Services select versions that there are while the new one cannot be created, and gives the stable one its pods.
func (b *ByPods) WithoutNew() {
	b.draft.CheckServices()
	if len(b.update.Problems) == 0 {
		b.mover.pointAvailable(target.Selection{Service: b.canary.StableService.Name, Version: b.world.Stable, Why: "it is the stable version"})
		b.mover.pointBack(b.canary.CanaryService.Name)
	}
	if b.world.Stable != nil && b.draft.MayNotScale() == "" {
		next := capacity.BasicCounts(b.limits, capacity.Counts{Stable: b.limits.Replicas}, capacity.ReplicaCounts{}, b.world.Stable.Counts(), b.world.OtherFleets())
		b.draft.Scale(b.world.Stable, next.Stable, withoutNew)
	}
}
