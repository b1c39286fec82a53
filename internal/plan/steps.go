package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// advance goes on through every step that is complete as things stand, and promotes the new version behind the last one.
func (p *pass) advance(c spec.Canary) {
	if p.is.Abort || p.spec.Paused {
		return
	}
	for !p.is.PromoteFull && p.at() < p.stepCount() {
		step := c.Steps[p.at()]
		if done, missing := p.complete(c, step); !done {
			p.Note(change.TopicWait, fmt.Sprintf("step %d of %d (%s)", p.at()+1, p.stepCount(), step), missing)
			return
		}
		p.leaveStep(step)
		p.goTo(p.at() + 1)
		p.Event(v1alpha1.EventRolloutStepCompleted, "Rollout step %d/%d completed (%s)", p.at(), p.stepCount(), step)
		p.Note(change.TopicStep, fmt.Sprintf("step %d of %d is done", p.at(), p.stepCount()), step.String())
	}
	p.finish(c)
}

// finish promotes the new version once it can carry everything.
func (p *pass) finish(c spec.Canary) {
	if why := p.unseenSize(); why != "" {
		p.Note(change.TopicWait, "promotion", why)
		return
	}
	available, wanted := p.new.fleet().available, p.spec.Replicas
	if p.routing != nil {
		wanted = p.routing.wanted()
	}
	if available < wanted && !c.Threshold.Met(available, p.spec.Replicas) {
		p.Note(change.TopicWait, "promotion", fmt.Sprintf("%d of %d pods of the new version available", available, wanted))
		return
	}
	if p.routing != nil {
		if carries, missing := p.routing.carries(); !carries {
			p.Note(change.TopicWait, "promotion", missing)
			return
		}
	}
	switch {
	case p.is.PromoteFull:
		p.promote("Full promotion requested")
		return
	case p.fastRollback():
		p.promote("Rollback within window")
		return
	}
	p.promote(fmt.Sprintf("Completed all %d canary steps", p.stepCount()))
}

// promote makes the current version the stable one.
func (p *pass) promote(reason string) {
	s := p.is
	s.PauseConditions, s.ControllerPause = nil, false
	s.Abort, s.AbortedAt, s.PromoteFull = false, nil, false
	s.StableRS = s.CurrentPodHash
	s.BlueGreen.ScaleUpPreviewCheckPoint = false
	p.takeTurns()
	p.goTo(p.stepCount())
	p.Event(v1alpha1.EventRolloutCompleted, "Rollout completed update to revision %s (%s): %s", p.revision(), s.CurrentPodHash, reason)
	p.Note(change.TopicUpdate, s.CurrentPodHash+" is the stable version now", reason)
}

// complete reports whether the current step is done, or else what it waits for.
func (p *pass) complete(c spec.Canary, step spec.Step) (bool, string) {
	switch s := step.(type) {
	case spec.SetWeight:
		if done, missing := p.reached(c); !done || p.routing == nil {
			return done, missing
		}
		return p.routing.weighs(s.Weight)
	case spec.SetCanaryScale:
		return p.reached(c)
	case spec.SetHeaderRoute, spec.SetMirrorRoute:
		return p.routing.sends()
	case spec.RunAnalysis:
		return p.passedStep(s)
	case spec.RunExperiment:
		return p.passedExperiment(s)
	case spec.Pause:
		return p.hold(v1alpha1.PauseReasonCanaryPauseStep, s)
	}
	panic(fmt.Sprintf("step of unknown kind %T", step)) // the sum is closed; the linter checks that this switch is
}

// hold holds the rollout for a pause. The controller pauses by writing a condition and remembering that it did; a person resumes by
// taking the condition away.
func (p *pass) hold(reason v1alpha1.PauseReason, s spec.Pause) (done bool, missing string) {
	since := p.pausedSince(reason)
	switch {
	case since.IsZero() && p.is.ControllerPause && len(p.is.PauseConditions) == 0:
		p.is.ControllerPause = false
		return true, ""
	case since.IsZero():
		start := p.nowOrLater()
		p.is.PauseConditions = append(p.is.PauseConditions, v1alpha1.PauseCondition{
			Reason: reason, StartTime: start,
		})
		p.is.ControllerPause = true
		since = start.Time
	}
	if s.Indefinite {
		return false, "until someone resumes it"
	}
	end := since.Add(s.Duration)
	if p.Now.Before(end) {
		p.WakeAt(end)
		return false, "until " + end.UTC().Format(time.RFC3339)
	}
	p.endPause(reason)
	return true, ""
}

func (p *pass) endPause(reason v1alpha1.PauseReason) {
	p.is.ControllerPause = false
	p.is.PauseConditions = slices.DeleteFunc(p.is.PauseConditions, func(c v1alpha1.PauseCondition) bool {
		return c.Reason == reason
	})
}

// pausedSince is when the controller paused for this reason, zero if it has not.
func (p *pass) pausedSince(reason v1alpha1.PauseReason) time.Time {
	for _, c := range p.is.PauseConditions {
		if c.Reason == reason {
			return c.StartTime.Time
		}
	}
	return time.Time{}
}
