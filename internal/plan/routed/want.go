package routed

import (
	"fmt"

	"github.com/sluice-delivery/sluice/internal/plan/capacity"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// Want is what the current step wants, whatever is possible now: how many pods, and how much room the spec leaves for them.
type Want struct {
	world  *world.World
	update *progress.Progress
	canary spec.Canary
	split  *Split
	// Succeeds: the new version plays the stable one's part, which is gone.
	Succeeds bool
}

// Stable is the version that plays the stable one's part, nil if none does.
func (t *Want) Stable() *world.Version {
	if t.Succeeds {
		return t.world.New
	}
	return t.world.Stable
}

// StableBeside is that version where it is another than the new one. There is none where the new one plays its part.
func (t *Want) StableBeside() *world.Version { return t.world.StableBeside() }

// TakesOver reports whether the new version, having all its pods, is promoted as it is and takes the stable Service over then: there
// is no need to move the traffic twice. With pingPong it is the weight that moves it.
func (t *Want) TakesOver() bool {
	return t.update.State() == progress.PromotedInFull && !t.canary.Traffic.DynamicStableScale && !t.canary.PingPong
}

// Alone reports whether someone deleted the stable version's ReplicaSet, and only the new version is left.
func (t *Want) Alone() bool {
	return t.Stable() == nil && t.world.New != nil && t.update.State() != progress.Settled && !t.Abandoned()
}

// Leftover is the version that the stable Service still sends to where the new one is alone and has the canary Service: an edit pointed it there. It is
// nil where none has pods. Between updates there is one with enforceMaxSurge if the stable version was deleted or the status was lost: the traffic
// returns by weight, since there is no room for two versions that could each carry all of it.
func (t *Want) Leftover() *world.Version {
	v := t.world.Find(t.world.ObservedSelects(t.split.StableService.Name))
	returns := t.canary.Traffic.EnforceMaxSurge && t.update.State() == progress.Settled && t.Stable() == t.world.New
	if !t.Alone() && !returns || t.split.ServedCanary() != t.world.New || v == t.world.New || v.Counts().Serving() == 0 {
		return nil
	}
	return v
}

// Replicas is how many pods carry all the traffic.
func (t *Want) Replicas() int32 { return t.world.Spec.Replicas }

// CanarySize is how many pods the new version should have at a weight, under the current step.
func (t *Want) CanarySize(weight int32) (int32, string) {
	if s, ok := t.CanaryScale(); ok {
		switch {
		case s.Percent != nil:
			return t.Budget().AtLeast(capacity.Share(*s.Percent, t.Replicas(), t.canary.MaxWeight)), s.String()
		case t.canary.Traffic.DynamicStableScale:
			return t.Budget().AtLeast(*s.Replicas), s.String()
		}
		return *s.Replicas, s.String()
	}
	n := t.Budget().Sized(weight)
	return n, fmt.Sprintf("%s of %d is %d", t.PortionText(weight), t.Replicas(), n)
}

// CanaryScale is the setCanaryScale step that is in force, if one is.
func (t *Want) CanaryScale() (spec.SetCanaryScale, bool) {
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

// Aim is how many pods the new version comes to at the current step. What the step asks for beyond the limit nobody can have, and the only
// version there is has all, whatever its step says.
func (t *Want) Aim() int32 {
	if t.Alone() || t.Leftover() != nil {
		return t.Replicas()
	}
	weight := t.update.Weight(t.canary)
	n, _ := t.CanarySize(weight)
	if !t.canary.Traffic.DynamicStableScale {
		return n
	}
	return t.Budget().Beside(t.canary.MaxWeight-weight, n)
}

// Budget is what the spec allows both sides.
func (t *Want) Budget() capacity.SurgeBudget { return capacity.BudgetOf(t.Replicas(), t.canary) }

// Free is how many pods may be added to those there are.
func (t *Want) Free() int32 { return t.world.FreeWithin(t.Budget()) }

// PortionText is a weight as people say it.
func (t *Want) PortionText(weight int32) string {
	return capacity.PortionText(weight, t.canary.MaxWeight)
}
