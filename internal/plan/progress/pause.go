package progress

import (
	"slices"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// Hold holds the rollout for a pause. The controller pauses by writing a condition and remembering that it did; a person resumes by
// taking the condition away.
func (p *Progress) Hold(reason v1alpha1.PauseReason, s spec.Pause) (done bool, missing string) {
	since := p.PausedSince(reason)
	switch {
	case p.Is.ControllerPause && len(p.Is.PauseConditions) == 0:
		p.Is.ControllerPause = false
		return true, ""
	case since.IsZero():
		start := p.world.NextSecond()
		p.Is.PauseConditions = append(p.Is.PauseConditions, v1alpha1.PauseCondition{
			Reason: reason, StartTime: start,
		})
		p.Is.ControllerPause = true
		since = start.Time
	}
	if s.Indefinite {
		return false, "until someone promotes it"
	}
	end := since.Add(s.Duration)
	if p.world.Now.Before(end) {
		p.journal.WakeAt(end)
		return false, "until " + end.UTC().Format(time.RFC3339)
	}
	p.EndPause(reason)
	return true, ""
}

// EndPause ends a pause that the controller has begun.
func (p *Progress) EndPause(reason v1alpha1.PauseReason) {
	p.Is.ControllerPause = false
	p.Is.PauseConditions = slices.DeleteFunc(p.Is.PauseConditions, func(c v1alpha1.PauseCondition) bool {
		return c.Reason == reason
	})
}

// PausedSince is when the controller paused for this reason, zero if it has not.
func (p *Progress) PausedSince(reason v1alpha1.PauseReason) time.Time {
	for _, c := range p.Is.PauseConditions {
		if c.Reason == reason {
			return c.StartTime.Time
		}
	}
	return time.Time{}
}
