package move

import (
	"cmp"
	"slices"

	"github.com/sluice-delivery/sluice/internal/plan/capacity"
	"github.com/sluice-delivery/sluice/internal/plan/judge"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/restart"
	"github.com/sluice-delivery/sluice/internal/plan/routed"
	"github.com/sluice-delivery/sluice/internal/plan/target"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// ByWeight moves a canary whose traffic routers split: what is to get traffic has its pods first, and what loses traffic loses it before its pods.
type ByWeight struct {
	scene
	mover   *Mover
	restart *restart.Restart

	spec.Traffic
	canary spec.Canary
	want   *routed.Want
	split  *routed.Split
}

// ByWeight moves a canary whose traffic routers split.
func (m *Mover) ByWeight(r *restart.Restart, j *judge.Judge, c spec.Canary) *ByWeight {
	want, split := routed.New(m.world, m.update, m.draft, j, m.journal, c)
	return &ByWeight{scene: m.scene, mover: m, restart: r, Traffic: *c.Traffic, canary: c, want: want, split: split}
}

// Run moves pods, Services and weights.
func (r *ByWeight) Run() {
	r.draft.CheckServices()
	r.split.See()
	r.noteSuperseded("")
	r.succeed()
	if !frozen(r.scene) {
		r.draft.Keep(r.want.StableBeside()) // a deadline that it has is of the strategy before this one
		resize(r, r.scene, sizesOf(r.want.Target().Sizes), sizesByWeight)
	}
	if len(r.update.Problems) > 0 { // the traffic stays where it is until a user corrects the Services
		r.split.Stay()
		return
	}
	r.pointServices()
	next := r.weigh()
	r.split.Route(next.to, next.why, r.want.WhyGoal())
	r.mover.GiveBack(r.split.Routers...)
	if r.draft.MayNotScale() == "" {
		r.retire()
	}
}

// succeed has the new version play the stable one's part where that is gone, and a version that was superseded carries what it carried. The
// traffic comes to the new one by weight then, as the two make room for each other: the canary Service could only move all of it at once, to
// pods that there is no room for.
func (r *ByWeight) succeed() {
	if c := r.split.ServedCanary(); r.EnforceMaxSurge && r.want.Alone() && r.update.State() != progress.Aborted && c != nil && c != r.world.New {
		r.want.Succeeds = true
	}
}

// retire takes the pods away of versions that nothing sends to any more, after their delays.
func (r *ByWeight) retire() {
	if r.update.State() == progress.Aborted && !r.AbortScaleDown {
		r.draft.Keep(r.world.New) // where it had a delay, 0 ends that, and the pods stay
	}
	for _, idle := range r.want.Idle() {
		if slices.ContainsFunc(idle.Services, func(name string) bool { return r.entry(name).before == idle.Version.Hash }) {
			r.draft.Keep(idle.Version) // someone pointed a Service at it: the delay begins when that Service has left it again
		}
		r.mover.retire(idle)
	}
}

// WithoutNew has both Services send to versions that there are while the new one cannot be created, and gives the stable one, or what is left, its pods.
func (r *ByWeight) WithoutNew() {
	r.draft.CheckServices()
	stable := cmp.Or(r.want.Stable(), r.world.Remaining())
	if len(r.update.Problems) == 0 {
		r.split.See()
		if stable != nil {
			r.pointStable(target.Selection{Service: r.split.StableService.Name, Version: stable, Why: withoutNew})
		}
		r.mover.pointBack(r.split.CanaryService.Name)
	}
	if stable != nil && r.draft.MayNotScale() == "" { // never fewer: another version may still carry traffic
		r.draft.Scale(stable, max(stable.Desired(), capacity.FitSurge(stable.Desired(), r.want.Replicas(), r.want.Free())), withoutNew)
	}
}
