package hazard

import (
	"fmt"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// neverStarts finds a background analysis whose starting step does not exist.
func (f *finder) neverStarts(c *v1alpha1.CanaryStrategy) {
	if c.Analysis == nil || c.Analysis.StartingStep == nil {
		return
	}
	if at, count := int(*c.Analysis.StartingStep), len(c.Steps); at > 0 && at >= count {
		f.add(NoEffect, canaryField+".analysis.startingStep",
			"%d is beyond the last step, so the analysis never runs: steps count from 0, and there are %d: set %d or less", at, count, max(0, count-1))
	}
}

// ineffective finds steps that have no effect.
func (f *finder) ineffective(c *v1alpha1.CanaryStrategy) {
	for i := range c.Steps {
		s := c.Steps[i].SetCanaryScale
		if s != nil && s.Replicas == nil && s.Weight == nil && !s.MatchTrafficWeight {
			f.add(NoEffect, fmt.Sprintf("%s.steps[%d].setCanaryScale", canaryField, i),
				"matchTrafficWeight: false alone does not set a number of pods, so the canary follows its traffic: set replicas or weight, or write matchTrafficWeight: true")
		}
	}
}

// emptied finds steps that delete all pods of the canary although a later step creates them again.
func (f *finder) emptied(c *v1alpha1.CanaryStrategy) {
	walk, before := canaryWalk{replicas: f.replicas}, int32(0)
	for i := range c.Steps {
		if !walk.step(&c.Steps[i]) || f.replicas == 0 {
			continue
		}
		now := walk.pods()
		if before > 0 && now == 0 && comesBack(walk, c.Steps[i+1:]) {
			f.add(EmptiedCanary, fmt.Sprintf("%s.steps[%d]", canaryField, i),
				"deletes the canary's %s, which a later step creates again: %s", pods(before), f.keeping(before, c, i))
			return
		}
		before = now
	}
}

// keeping is what to write instead of a step that deletes the canary's pods: a step that neither deletes them nor overloads
// them.
func (f *finder) keeping(had int32, c *v1alpha1.CanaryStrategy, at int) string {
	for _, s := range c.Steps[at+1:] {
		if s.SetCanaryScale != nil {
			break // which sets their number
		}
		if s.SetWeight == nil || *s.SetWeight == 0 {
			continue
		}
		if l := (load{weight: *s.SetWeight, most: mostOf(c), pods: had, replicas: f.replicas}); l.times() >= overloaded {
			return fmt.Sprintf(`write "setCanaryScale: {weight: %d}" in its place`, l.share())
		}
		return `put setWeight before "setCanaryScale: {matchTrafficWeight: true}"`
	}
	return "leave it out"
}

func comesBack(walk canaryWalk, steps []v1alpha1.CanaryStep) bool {
	for i := range steps {
		if walk.step(&steps[i]) && walk.pods() > 0 {
			return true
		}
	}
	return false
}

// pods is whether the canary has any, and how many if the steps say so.
func (w *canaryWalk) pods() int32 {
	switch {
	case w.fixed != nil:
		return *w.fixed
	case w.weight > 0:
		return 1
	}
	return 0
}
