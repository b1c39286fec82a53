package routed

import (
	"fmt"

	"github.com/sluice-delivery/sluice/internal/plan/capacity"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// target is what the current step wants, whatever is possible now: how many pods, and how much room the spec leaves for them.
type target struct {
	world  *world.World
	update *progress.Progress
	canary spec.Canary
	// succeeds: the new version plays the stable one's part, which is gone.
	succeeds bool
}

// stable is the version that plays the stable one's part, nil if none does.
func (t *target) stable() *world.Version {
	if t.succeeds {
		return t.world.New
	}
	return t.world.Stable
}

// stableBeside is that version where it is another than the new one.
func (t *target) stableBeside() *world.Version {
	if t.succeeds {
		return nil
	}
	return t.world.StableBeside()
}

// takesOver reports whether the new version, having all its pods, is promoted as it is and takes the stable Service over then: there
// is no need to move the traffic twice. With pingPong it is the weight that moves it.
func (t *target) takesOver() bool {
	return t.update.State() == progress.PromotedInFull && !t.canary.Traffic.DynamicStableScale && !t.canary.PingPong
}

// alone reports whether the stable version's ReplicaSet is gone, which somebody deleted: the new version is all there is.
func (t *target) alone() bool {
	return t.stable() == nil && t.world.New != nil && t.update.State() != progress.Settled
}

// replicas is how many pods carry all the traffic.
func (t *target) replicas() int32 { return t.world.Spec.Replicas }

// canarySize is how many pods the new version should have at a weight, as the current step has it (behaviour.md A6.4).
func (t *target) canarySize(weight int32) (int32, string) {
	if s, ok := t.canaryScale(); ok {
		switch {
		case s.Percent != nil:
			return t.room().AtLeast(capacity.Share(*s.Percent, t.replicas(), t.canary.MaxWeight)), s.String()
		case t.canary.Traffic.DynamicStableScale:
			return t.room().AtLeast(*s.Replicas), s.String()
		}
		return *s.Replicas, s.String()
	}
	n := t.room().Sized(weight)
	return n, fmt.Sprintf("%s of %d is %d", t.portionText(weight), t.replicas(), n)
}

// canaryScale is the setCanaryScale step that is in force, if one is.
func (t *target) canaryScale() (spec.SetCanaryScale, bool) {
	if t.update.At() == t.world.StepCount() || t.update.State() == progress.PromotedInFull || t.update.State() == progress.Aborted {
		return spec.SetCanaryScale{}, false
	}
	for i := t.update.At(); i >= 0; i-- {
		if s, ok := t.canary.Steps[i].(spec.SetCanaryScale); ok {
			return s, s.Replicas != nil || s.Percent != nil
		}
	}
	return spec.SetCanaryScale{}, false
}

// aim is how many pods the new version comes to at the current step. What the step asks for beyond the limit nobody can have, and the only
// version there is has all, whatever its step says.
func (t *target) aim() int32 {
	if t.alone() {
		return t.replicas()
	}
	weight := t.update.Weight(t.canary)
	n, _ := t.canarySize(weight)
	if !t.canary.Traffic.DynamicStableScale {
		return n
	}
	return t.room().Beside(t.canary.MaxWeight-weight, n)
}

// room is what the spec leaves to both sides.
func (t *target) room() capacity.Room { return capacity.RoomOf(t.replicas(), t.canary) }

// free is how many pods may be added to those there are.
func (t *target) free() int32 { return t.world.FreeWithin(t.room()) }

// portionText is a weight as people say it.
func (t *target) portionText(weight int32) string {
	return capacity.PortionText(weight, t.canary.MaxWeight)
}
