package act

import (
	"context"
	"fmt"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/cli/live"
)

// Promotion is how far to promote.
type Promotion struct {
	Full, SkipStep, SkipAll bool
}

// Past is what was done, for an event.
func (how Promotion) Past() string {
	switch {
	case how.Full:
		return "promoted in full"
	case how.SkipStep:
		return "step skipped"
	case how.SkipAll:
		return "all steps skipped"
	}
	return "promoted"
}

// Do promotes a Rollout and returns what to say about it, and whether there was something to promote.
func (how Promotion) Do(ctx context.Context, c live.Client, name string) (result string, wrote bool, err error) {
	ro, err := c.Rollout(ctx, name)
	if err != nil {
		return "", false, err
	}
	p, err := how.Patch(ro)
	if err != nil {
		return "", false, err
	}
	if err := p.Send(ctx, c, live.Rollouts, name); err != nil {
		return "", false, err
	}
	switch {
	case p.empty():
		return fmt.Sprintf("rollout '%s' has nothing left to promote", name), false, nil
	case how.Full:
		return fmt.Sprintf("rollout '%s' fully promoted", name), true, nil
	}
	return fmt.Sprintf("rollout '%s' promoted", name), true, nil
}

// Patch is what to write. Where a controller pauses, removing the pause is enough: the controller then continues by itself. Where it is busy with a
// step, the step is counted as done for it. Never both, or a promotion would skip a step that nobody has seen yet.
func (how Promotion) Patch(ro *v1alpha1.Rollout) (Patch, error) {
	index, count := stepOf(ro)
	skip := func(to int) Fields { return Fields{"pauseConditions": nil, "currentStepIndex": min(to, count)} }
	switch {
	case (how.SkipStep || how.SkipAll) && ro.Spec.Strategy.Canary == nil:
		return Patch{}, fmt.Errorf("rollout '%s' is not a canary, so it has no steps to skip: promote it without that flag", ro.Name)
	case (how.SkipStep || how.SkipAll) && count == 0:
		return Patch{}, fmt.Errorf("rollout '%s' has no steps to skip: promote it without that flag", ro.Name)
	case how.SkipStep:
		return Patch{Status: skip(index + 1)}, nil
	case how.SkipAll:
		return Patch{Status: skip(count)}, nil
	}

	var p Patch
	if ro.Spec.Paused {
		p.Spec = Fields{"paused": false}
	}
	if how.Full {
		if ro.Status.CurrentPodHash != ro.Status.StableRS {
			p.Status = Fields{"promoteFull": true}
		}
		return p, nil
	}
	switch paused := len(ro.Status.PauseConditions) > 0; {
	case paused && ro.Status.ControllerPause && inconclusive(ro) && index < count:
		p.Status = skip(index + 1)
		p.Status["controllerPause"] = false // or the pause step behind would be taken for one that is over
	case paused:
		p.Status = Fields{"pauseConditions": nil}
	case index < count:
		p.Status = skip(index + 1)
	}
	return p, nil
}

// stepOf is the index of a canary's current step and the number of steps; both zero for what has none.
func stepOf(ro *v1alpha1.Rollout) (index, count int) {
	if ro.Spec.Strategy.Canary == nil {
		return 0, 0
	}
	count = len(ro.Spec.Strategy.Canary.Steps)
	if i := ro.Status.CurrentStepIndex; i != nil {
		index = min(int(*i), count)
	}
	return index, count
}

// inconclusive is true while the analysis of the current step could not tell, and a person is to decide.
func inconclusive(ro *v1alpha1.Rollout) bool {
	run := ro.Status.Canary.CurrentStepAnalysisRunStatus
	return ro.Spec.Strategy.Canary != nil && run != nil && run.Status == v1alpha1.AnalysisPhaseInconclusive
}

// AfterPromotion is what `promote` would leave of a Rollout, nil if there is nothing to promote.
func AfterPromotion(ro *v1alpha1.Rollout) *v1alpha1.Rollout {
	p, err := Promotion{}.Patch(ro)
	if err != nil || p.empty() {
		return nil
	}
	out, err := p.Applied(ro)
	if err != nil {
		return nil
	}
	return out
}
