package canary

import (
	"fmt"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// advance goes on through every step that is complete as things stand, and promotes the new version behind the last one.
func (p *Canary) advance(c spec.Canary) {
	if p.update.State() == progress.Aborted || p.world.Spec.Paused {
		return
	}
	for p.update.State() != progress.PromotedInFull && p.update.At() < p.world.StepCount() {
		step := c.Steps[p.update.At()]
		if done, missing := p.complete(step); !done {
			p.journal.Note(change.TopicWait, fmt.Sprintf("step %d of %d (%s)", p.update.At()+1, p.world.StepCount(), step), missing)
			return
		}
		p.judge.LeaveStep(step)
		p.update.GoTo(p.update.At() + 1)
		p.journal.Event(v1alpha1.EventRolloutStepCompleted, "Rollout step %d/%d completed (%s)", p.update.At(), p.world.StepCount(), step)
		p.journal.Note(change.TopicStep, fmt.Sprintf("step %d of %d is done", p.update.At(), p.world.StepCount()), step.String())
	}
	p.finish(c)
}

// finish promotes the new version once it can carry everything.
func (p *Canary) finish(c spec.Canary) {
	if why := p.world.UnseenSize(); why != "" {
		p.journal.Note(change.TopicWait, "promotion", why)
		return
	}
	available, wanted := p.world.New.Counts().Available, p.world.Spec.Replicas
	if p.routing != nil {
		wanted = p.routing.Wanted()
	}
	if available < wanted && !c.Threshold.Met(available, p.world.Spec.Replicas) {
		p.journal.Note(change.TopicWait, "promotion", fmt.Sprintf("%d of %d pods of the new version available", available, wanted))
		return
	}
	if p.routing != nil {
		if carries, missing := p.routing.Carries(); !carries {
			p.journal.Note(change.TopicWait, "promotion", missing)
			return
		}
	}
	switch {
	case p.update.State() == progress.PromotedInFull:
		p.update.Promote("Full promotion requested")
		return
	case p.update.FastRollback():
		p.update.Promote("Rollback within window")
		return
	}
	p.update.Promote(fmt.Sprintf("Completed all %d canary steps", p.world.StepCount()))
}

// complete reports whether the current step is done, or else what it waits for.
func (p *Canary) complete(step spec.Step) (bool, string) {
	switch s := step.(type) {
	case spec.SetWeight:
		if done, missing := p.reached(); !done || p.routing == nil {
			return done, missing
		}
		return p.routing.Weighs(s.Weight)
	case spec.SetCanaryScale:
		return p.reached()
	case spec.SetHeaderRoute, spec.SetMirrorRoute:
		return p.routing.Sends()
	case spec.RunAnalysis:
		return p.judge.PassedStep(s)
	case spec.RunExperiment:
		return p.judge.PassedExperiment(s)
	case spec.RunPlugin:
		return p.plugins.Passed(s)
	case spec.Pause:
		return p.update.Hold(v1alpha1.PauseReasonCanaryPauseStep, s)
	}
	panic(fmt.Sprintf("step of unknown kind %T", step)) // the sum is closed; the linter checks that this switch is
}
