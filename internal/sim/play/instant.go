package play

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// Instant is how things are after a decision, and what the decision publishes about the Rollout. The objects are the world's own.
type Instant struct {
	At time.Time
	// Since is the time since the update began.
	Since time.Duration
	// Rollout has the template of its pods, wherever that comes from.
	Rollout *v1alpha1.Rollout
	// Runs are its AnalysisRuns, Stable is what the version was made from that the update replaces.
	Runs   []*v1alpha1.AnalysisRun
	Stable *corev1.PodTemplateSpec
	Events []change.Event
}

// instant tells how things are.
func (p *player) instant(events []change.Event) {
	if p.Tell == nil || !p.started {
		return
	}
	ro := p.world.Rollout()
	if d := p.world.Deployment(); d != nil {
		ro, _ = spec.WithWorkload(ro, d) // what is wrong with it, the Rollout's status tells
	}
	i := Instant{At: sim.Start.Add(p.world.Elapsed()), Since: p.since(), Rollout: ro, Runs: p.world.Runs(), Events: events}
	if ro.Status.StableRS != ro.Status.CurrentPodHash {
		i.Stable = &p.before
	}
	p.Tell(i)
}
