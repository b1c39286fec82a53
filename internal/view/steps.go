package view

import (
	"fmt"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// Step is one step of a canary.
type Step struct {
	// Text says what it does: "setWeight: 10".
	Text string
	// Waits says what ends the step if only a user can: an indefinite pause.
	Waits bool
	State StepState
}

// StepState is the progress of a step.
type StepState string

// The states of a step.
const (
	StepDone    StepState = "Done"
	StepCurrent StepState = "Current"
	StepAhead   StepState = "Ahead"
)

// Pause is a pause that ends by itself.
type Pause struct {
	Elapsed, Total time.Duration
}

// Remaining is how long the pause will last from now.
func (p Pause) Remaining() time.Duration { return p.Total - p.Elapsed }

// stepsOf are the steps and how many of them are complete. No step is current while the update is aborted.
func stepsOf(ro *v1alpha1.Rollout) (steps []Step, done int) {
	list := ro.Spec.Strategy.Canary.Steps
	done = stepIndex(ro)
	for i := range list {
		step := Step{Text: stepText(&list[i]), State: StepAhead}
		step.Waits = list[i].Pause != nil && list[i].Pause.Duration == nil
		switch {
		case i < done:
			step.State = StepDone
		case i == done && !ro.Status.Abort:
			step.State = StepCurrent
		}
		steps = append(steps, step)
	}
	return steps, done
}

// stepIndex is the index of the current step, or the number of steps if all are complete. It never exceeds the length of a
// list that was just shortened.
func stepIndex(ro *v1alpha1.Rollout) int {
	if ro.Status.CurrentStepIndex == nil {
		return 0
	}
	return min(max(0, int(*ro.Status.CurrentStepIndex)), len(ro.Spec.Strategy.Canary.Steps))
}

func stepText(s *v1alpha1.CanaryStep) string {
	switch {
	case s.SetWeight != nil:
		return fmt.Sprintf("setWeight: %d", *s.SetWeight)
	case s.Pause != nil && s.Pause.Duration != nil:
		return "pause: " + s.Pause.Duration.String()
	case s.Pause != nil:
		return "pause"
	case s.SetCanaryScale != nil:
		return "setCanaryScale" + canaryScaleText(s.SetCanaryScale)
	case s.SetHeaderRoute != nil:
		return "setHeaderRoute: " + s.SetHeaderRoute.Name
	case s.SetMirrorRoute != nil:
		return "setMirrorRoute: " + s.SetMirrorRoute.Name
	case s.Analysis != nil:
		return "analysis" + analysisText(s.Analysis)
	case s.Experiment != nil:
		return "experiment" + experimentText(s.Experiment)
	case s.Plugin != nil:
		return "plugin: " + s.Plugin.Name
	}
	return "?"
}

func canaryScaleText(s *v1alpha1.SetCanaryScale) string {
	switch {
	case s.Replicas != nil:
		return fmt.Sprintf(": %d replicas", *s.Replicas)
	case s.Weight != nil:
		return fmt.Sprintf(": %d %%", *s.Weight)
	}
	return ": match traffic weight"
}

func analysisText(a *v1alpha1.RolloutAnalysis) string {
	text, separator := "", ": "
	for _, t := range a.Templates {
		text += separator + t.TemplateName
		separator = ", "
	}
	return text
}

func experimentText(e *v1alpha1.RolloutExperimentStep) string {
	text, separator := "", ": "
	for _, t := range e.Templates {
		text += separator + t.Name
		separator = ", "
	}
	return text
}

// pauseOf is the timed pause in effect.
func pauseOf(ro *v1alpha1.Rollout, now time.Time) *Pause {
	for _, c := range ro.Status.PauseConditions {
		if total := pauseLength(ro, c.Reason); total > 0 {
			return &Pause{Elapsed: min(age(c.StartTime.Time, now), total), Total: total}
		}
	}
	return nil
}

// pauseLength is how long a pause for this reason lasts, zero if only a user ends it.
func pauseLength(ro *v1alpha1.Rollout, reason v1alpha1.PauseReason) time.Duration {
	canary, blueGreen := ro.Spec.Strategy.Canary, ro.Spec.Strategy.BlueGreen
	switch {
	case reason == v1alpha1.PauseReasonCanaryPauseStep && canary != nil && stepIndex(ro) < len(canary.Steps):
		step := canary.Steps[stepIndex(ro)]
		if step.Pause == nil || step.Pause.Duration == nil {
			return 0
		}
		length, _ := spec.PauseDuration(*step.Pause.Duration) // a duration that does not parse never ends by itself
		return length
	case reason == v1alpha1.PauseReasonBlueGreenPause && blueGreen != nil:
		return time.Duration(blueGreen.AutoPromotionSeconds) * time.Second
	}
	return 0
}

// setWeight is the canary's desired share at the current step.
func setWeight(ro *v1alpha1.Rollout) int32 {
	steps, current := ro.Spec.Strategy.Canary.Steps, stepIndex(ro)
	switch {
	case ro.Status.Abort:
		return 0
	case current >= len(steps), ro.Status.PromoteFull:
		return maxWeight(ro)
	}
	for i := current; i >= 0; i-- {
		if w := steps[i].SetWeight; w != nil {
			return *w
		}
	}
	return 0
}

// actualWeight is the canary's actual share: what the routers were set to, or without one its share of the available pods.
func actualWeight(ro *v1alpha1.Rollout, revisions []Revision) int32 {
	canary := ro.Spec.Strategy.Canary
	switch {
	case stepIndex(ro) >= len(canary.Steps) && ro.Status.CurrentPodHash == ro.Status.StableRS:
		return maxWeight(ro)
	case canary.TrafficRouting != nil && ro.Status.Canary.Weights != nil:
		return ro.Status.Canary.Weights.Canary.Weight
	case canary.TrafficRouting != nil:
		return 0
	}
	var canaries, all int32
	for _, rev := range revisions {
		for _, rs := range rev.ReplicaSets {
			all += rs.Available
			if rs.is(TagCanary) {
				canaries += rs.Available
			}
		}
	}
	if all == 0 {
		return 0
	}
	return int32(int64(canaries) * int64(maxWeight(ro)) / int64(all))
}

func maxWeight(ro *v1alpha1.Rollout) int32 {
	if t := ro.Spec.Strategy.Canary.TrafficRouting; t != nil && t.MaxTrafficWeight != nil {
		return *t.MaxTrafficWeight
	}
	return v1alpha1.DefaultMaxTrafficWeight
}
