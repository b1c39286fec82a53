// Package basic is what a canary without a router wants: the share of the pods is the share of the requests.
package basic

import (
	"fmt"

	"github.com/sluice-delivery/sluice/internal/plan/capacity"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/target"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// Want is what the current step wants, whatever is possible now.
type Want struct {
	world  *world.World
	update *progress.Progress
	canary spec.Canary
}

// New has not looked at anything.
func New(w *world.World, u *progress.Progress, c spec.Canary) *Want {
	return &Want{world: w, update: u, canary: c}
}

// Target is what the current step wants: pods of both versions in the proportion of the weight, none of any other version, and each Service at
// its version. The stable Service goes to the new version as soon as that is to have all pods.
func (b *Want) Target() target.Target {
	ideal, why := b.ideal()
	t := target.Target{
		Sizes:    []target.Size{{Version: b.world.New, Pods: ideal.Canary, Why: why}},
		Services: []target.Selection{{Service: b.canary.CanaryService.Name, Version: b.world.New, Why: "it is the version to try"}},
	}
	if b.update.State() == progress.Settled || b.update.State() == progress.Aborted {
		t.Services[0].Version = b.world.Stable
	}
	if stable := b.world.StableBeside(); stable != nil {
		t.Sizes = append(t.Sizes, target.Size{Version: stable, Pods: ideal.Stable, Why: fmt.Sprintf("%s, which leaves %d", why, ideal.Stable)})
	}
	for i := range b.world.Others {
		t.Sizes = append(t.Sizes, target.Size{Version: &b.world.Others[i], Why: "neither the new nor the stable version"})
	}
	t.Services = append(t.Services, target.Selection{Service: b.canary.StableService.Name, Version: b.world.Stable, Why: "it is the stable version"})
	return t
}

// ideal is how many pods each version should have at the current step, and why.
func (b *Want) ideal() (capacity.Counts, string) {
	replicas := b.world.Spec.Replicas
	if b.world.StableBeside() == nil {
		return capacity.Counts{Canary: replicas}, fmt.Sprintf("the only version takes all %d", replicas)
	}
	weight := b.update.Weight(b.canary)
	ideal := capacity.IdealCounts(replicas, weight, b.canary.MaxWeight, b.canary.MaxSurge)
	return ideal, fmt.Sprintf("%s of %d is %d", capacity.PortionText(weight, b.canary.MaxWeight), replicas, ideal.Canary)
}
