package basic

import (
	"slices"

	"github.com/sluice-delivery/sluice/internal/plan/capacity"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// pointBasic has the Services of a canary without a router follow their versions. People reach one version by them, and nobody knows
// how many: so each is pointed elsewhere only when somebody answers there.
func (b *Canary) pointBasic(c spec.Canary) {
	canary, why := b.world.New, "it is the version to try"
	if b.update.State() == progress.Settled || b.update.State() == progress.Aborted {
		canary = b.world.Stable
	}
	if only := b.onlyRoom(c); only != nil {
		canary, why = only, "there is no room for pods of another version"
	}
	b.draft.PointAvailable(c.CanaryService.Name, canary, why)
	stable := b.world.Stable
	if b.takesOver(c) {
		stable = b.world.New
	}
	b.draft.PointAvailable(c.StableService.Name, stable, "it is the stable version")
}

// takesOver reports whether the new version is about to be the only one, and can answer for the stable one already. The stable
// Service is moved then, before the last stable pod goes and not after it.
//
// Where somebody has deleted the stable version the Service may still send to one that was overtaken. That is followed as soon as the new
// version can answer, whatever its step says: it has all pods.
func (b *Canary) takesOver(c spec.Canary) bool {
	stable, gone := b.world.StableBeside(), b.world.Stable == nil && b.update.State() != progress.Settled
	if gone {
		stable = b.world.Find(b.draft.Selects(c.StableService.Name))
	}
	if stable == nil || b.update.State() == progress.Aborted || !gone && b.update.Weight(c) < c.MaxWeight && b.onlyRoom(c) != b.world.New {
		return false
	}
	if b.draft.Selects(c.StableService.Name) == b.update.Is.CurrentPodHash { // it has been moved; one pod that fails is no reason to go back
		return b.world.New.Fleet().Serving() >= 1
	}
	return b.draft.MayNotScale() == "" && b.world.New.Fleet().Serving() >= max(1, stable.Fleet().Serving())
}

// onlyRoom is the version that keeps its pods where there is room for one pod, and both versions have some: a greater spec.replicas, a
// greater maxSurge or a router has left them. It is nil anywhere else. Both Services are to select that version, since the other one's
// pod does not go while one selects it.
func (b *Canary) onlyRoom(c spec.Canary) *world.Version {
	stable := b.world.StableBeside()
	if b.world.Spec.Replicas != 1 || c.MaxSurge > 0 || b.world.Spec.Paused && b.update.State() != progress.Aborted || b.world.New.Desired() == 0 || stable.Desired() == 0 {
		return nil
	}
	if capacity.IdealCounts(b.world.Spec.Replicas, b.update.Weight(c), c.MaxWeight, c.MaxSurge).Canary > 0 {
		return b.world.New
	}
	return stable
}

// countsForServices leaves a pod to a version that is to have none, for as long as a Service selects it: whoever asks that is to be
// answered. The other version goes without it, where there is no room for one more. Where there is room for one pod only, the Service
// moves instead (onlyRoom).
func (b *Canary) countsForServices(c spec.Canary, n capacity.Counts) capacity.Counts {
	most := b.world.Spec.Replicas + c.MaxSurge
	switch {
	case most < 2:
	case n.Canary == 0 && b.answers(c, b.world.New):
		return capacity.Counts{Canary: 1, Stable: min(n.Stable, most-1)}
	case n.Stable == 0 && b.answers(c, b.world.Stable):
		return capacity.Counts{Canary: min(n.Canary, most-1), Stable: 1}
	}
	return n
}

// answers reports whether a version keeps a pod since one of the Services selects it, if another version has pods, or will have, that
// can answer instead. Where there is no room for any the limits leave no choice, and at 0 replicas nobody is to answer.
func (b *Canary) answers(c spec.Canary, v *world.Version) bool {
	services := world.ServiceNames(c)
	if v.Desired() == 0 || len(services) == 0 || b.world.Spec.Replicas == 0 || b.world.OnlyVersion(v) {
		return false
	}
	if b.world.AnsweredBeside(v) { // a Service that tells no versions apart needs none in particular
		services = slices.DeleteFunc(services, func(name string) bool { return b.draft.Selects(name) == "" && b.world.ObservedSelects(name) == "" })
	}
	return b.draft.Referenced(v.Hash, services)
}

// keptForService is how many pods a version may be scaled to: not to none while one of the Services sends to it.
func (b *Canary) keptForService(c spec.Canary, v *world.Version, to int32) int32 {
	switch services := world.ServiceNames(c); {
	case to > 0 || v.Desired() == 0 || len(services) == 0:
		return to
	case b.answers(c, v):
		return 1
	case !b.draft.Referenced(v.Hash, services) && !b.draft.Unreferenced(v.Hash, services): // it needs to be known for certain
		return v.Desired()
	}
	return to
}
