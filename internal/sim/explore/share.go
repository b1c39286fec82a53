package explore

import (
	"math"

	"github.com/sluice-delivery/sluice/internal/spec"
)

// share checks, of a canary that waits for a person, that its pods are as near to its weight as they can be: the arithmetic seen
// from outside.
func (r *rules) share() {
	now, status := r.now(), r.world.Rollout().Status
	s := now.spec
	c, ok := s.Strategy.(spec.Canary)
	if !ok || c.Traffic != nil || !now.ok || !r.world.Quiet() || status.StableRS == status.CurrentPodHash || status.CurrentStepIndex == nil {
		return
	}
	if r.world.Available() != r.world.PodCount() { // what is missing may hold everything up
		return
	}
	weight := 0.0
	for i, step := range c.Steps {
		if w, ok := step.(spec.SetWeight); ok && i <= int(*status.CurrentStepIndex) {
			weight = float64(w.Weight)
		}
	}
	if int(*status.CurrentStepIndex) >= len(c.Steps) {
		weight = 100
	}
	if r.history.Routed && (weight == 0 || weight == 100) { // a Service keeps one pod of the version that it selects
		return
	}
	canary, total := r.world.Split()
	if total == 0 || canary == total && weight < 100 && !r.world.StableExists() {
		return // someone deleted the stable version
	}
	distance := func(n, of int) float64 { return math.Abs(float64(n)/float64(of)*100 - weight) }
	most := int(s.Replicas)
	if c.MaxSurge > 0 && weight > 0 && weight < 100 {
		most++
	}
	best := math.Inf(1)
	fewest := int(s.Replicas)
	if most > fewest {
		fewest = max(2, fewest) // two sides need two pods
	}
	for of := fewest; of <= most; of++ {
		for n := 0; n <= of; n++ {
			if between := weight > 0 && weight < 100 && of > 1; !between || n > 0 && n < of {
				best = min(best, distance(n, of))
			}
		}
	}
	if distance(canary, total) > best+1e-9 {
		r.history.fail("share", "%d of %d pods are the canary's at %.0f %%: %s", canary, total, weight, summary(r.world))
	}
}
