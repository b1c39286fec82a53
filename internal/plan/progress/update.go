package progress

import (
	"fmt"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// Weight is the canary's share at the current step: the last setWeight at or before it.
func (p *Progress) Weight(c spec.Canary) int32 {
	switch p.State() {
	case PromotedInFull:
		return c.MaxWeight
	case Aborted:
		return 0
	case Settled, Updating:
	}
	if p.At() == p.world.StepCount() {
		return c.MaxWeight
	}
	for i := p.At(); i >= 0; i-- {
		if s, ok := c.Steps[i].(spec.SetWeight); ok {
			return s.Weight
		}
	}
	return 0
}

// StepRecorded reports whether the current step was the current one before this pass.
func (p *Progress) StepRecorded() bool {
	return !p.Begun && !p.Retried && SameIndex(p.Was.CurrentStepIndex, p.Is.CurrentStepIndex)
}

// State is where an update stands.
type State int

// The states of an update.
const (
	// Settled: the current version is the stable one, and nothing is being updated.
	Settled State = iota
	// Updating: the new version goes through its steps, or its gates.
	Updating
	// Aborted: everything goes back to the stable version.
	Aborted
	// PromotedInFull: the new version is to take over at once, without steps, pauses and analyses.
	PromotedInFull
)

// State is where the update stands by what is recorded so far.
func (p *Progress) State() State {
	switch s := p.Is; {
	case s.StableRS != "" && s.StableRS == s.CurrentPodHash:
		return Settled
	case s.Abort:
		return Aborted
	case s.PromoteFull:
		return PromotedInFull
	}
	return Updating
}

// Abort aborts the update on the controller's own account.
func (p *Progress) Abort(why string) {
	s, now := p.Is, p.world.Second()
	s.Abort, s.AbortedAt, s.PromoteFull = true, &now, false
	s.PauseConditions, s.ControllerPause = nil, false
	p.GoTo(0)
	p.Aborted = why
	p.journal.Note(change.TopicUpdate, "aborted: back to the stable version", why)
}

// SameIndex reports whether two step indexes are the same, or both unset.
func SameIndex(a, b *int32) bool { return a == b || a != nil && b != nil && *a == *b }

// FastRollback reports whether the update goes back to a version that still had all its pods when it was asked for. It has served
// before, so no analysis is needed. The clock of the update remembers it; in the pass that begins an update the clock is that of the one before.
func (p *Progress) FastRollback() bool {
	d := p.Is.Duration
	return p.Fast || !p.Begun && d != nil && d.FinishedAt == nil && d.CompletionStatus == v1alpha1.CompletionFastRolledBack
}

// Revision is the current version's revision.
func (p *Progress) Revision() string { return p.Annotations[v1alpha1.RevisionAnnotation] }

// IsRestarting reports whether pods are to be replaced, now or later.
func (p *Progress) IsRestarting() bool {
	at := p.world.Rollout.Spec.RestartAt
	return at != nil && !at.Equal(p.Is.RestartedAt)
}

// Begins reports whether an update begins in this pass.
func (p *Progress) Begins() bool {
	return p.Was.CurrentPodHash != p.world.NewHash() || p.Was.CurrentStepHash != p.world.Spec.StepHash
}

// Begin starts the update at its first step, or at the end of the steps where there is nothing to update: the template is the
// stable version's.
func (p *Progress) Begin(hash string) {
	s := p.Is
	p.Begun = s.CurrentPodHash != hash
	s.CurrentPodHash, s.CurrentStepHash = hash, p.world.Spec.StepHash
	s.PauseConditions, s.ControllerPause = nil, false
	s.Abort, s.AbortedAt, s.PromoteFull = false, nil, false
	s.RestartedAt = p.world.Rollout.Spec.RestartAt.DeepCopy()
	p.forgetVerdicts()
	p.Fast = p.goesBackFast()
	s.BlueGreen.ScaleUpPreviewCheckPoint = p.Fast
	p.GoTo(0)
	if window := p.world.Spec.RollbackWindow; p.Fast && !p.world.IsBlueGreen() {
		p.GoTo(p.world.StepCount())
		p.journal.Event(v1alpha1.EventSkipSteps, "Rollback within the window of %d revisions", window)
		p.journal.Note(change.TopicUpdate, "back to an earlier version: all steps are skipped", fmt.Sprintf("rollbackWindow of %d revisions", window))
	}
	if p.State() == Settled {
		p.GoTo(p.world.StepCount())
		if p.Begun && p.Was.CurrentPodHash != "" {
			p.journal.Event(v1alpha1.EventSkipSteps, "Rollback to stable ReplicaSets")
			p.journal.Note(change.TopicUpdate, "back to the stable version: all steps are skipped", "the template is that of "+s.StableRS)
		}
	}
}

// goesBackFast reports whether the update goes back to a version that needs no trial: one that still runs, and is within the rollback
// window, or, with blue-green, has all its pods still since its delay has not passed.
func (p *Progress) goesBackFast() bool {
	if p.world.New.Desired() == 0 || p.State() == Settled {
		return false
	}
	return p.world.WithinWindow() || p.world.IsBlueGreen() && p.world.New.Delaying(p.world.Now) && p.world.New.Annotations[v1alpha1.OvertakenAnnotation] == ""
}

// DecidesFast reports whether this reconcile finds that an earlier version no longer runs. That version gets no pods before the status
// records this: after a crash they would look like pods that had never been deleted.
func (p *Progress) DecidesFast() bool { return p.Begun && !p.Fast && p.world.WithinWindow() }

// Obey carries out abort, retry and promote --full. The newer of an abort and a full promotion wins: an abort that has been
// recorded before is the older one.
func (p *Progress) Obey() {
	s := p.Is
	if p.State() == Settled {
		s.Abort, s.AbortedAt, s.PromoteFull = false, nil, false
		return
	}
	if s.Abort && s.PromoteFull {
		if s.AbortedAt == nil {
			s.PromoteFull = false
		} else {
			s.Abort = false
		}
	}
	switch {
	case s.Abort && s.AbortedAt == nil:
		now := p.world.Second()
		s.AbortedAt = &now
		p.journal.Note(change.TopicUpdate, "aborted: back to the stable version", "status.abort is set")
	case !s.Abort && s.AbortedAt != nil:
		s.AbortedAt = nil
		s.BlueGreen.ScaleUpPreviewCheckPoint = false
		p.forgetVerdicts()
		p.Retried = true
		p.GoTo(0)
		if s.PromoteFull {
			p.journal.Note(change.TopicUpdate, "tried again, without steps", "a full promotion was requested after the abort")
		} else {
			p.journal.Note(change.TopicUpdate, "tried again from the first step", "status.abort was cleared")
		}
	}
	if s.Abort {
		p.GoTo(0)
	}
	if s.Abort || s.PromoteFull {
		s.PauseConditions, s.ControllerPause = nil, false
	}
}

// GoTo makes step i the current one; it stays unset where there are no steps.
func (p *Progress) GoTo(i int32) {
	p.Is.CurrentStepIndex = nil
	if p.world.StepCount() > 0 {
		p.Is.CurrentStepIndex = &i
	}
}

// At is the current step's index, the number of steps when all are done.
func (p *Progress) At() int32 {
	if p.Is.CurrentStepIndex == nil {
		return p.world.StepCount()
	}
	return min(max(*p.Is.CurrentStepIndex, 0), p.world.StepCount())
}

// takeTurns makes the Service that carries everything now the stable one, where two take turns. The first version has ping, whatever was recorded while
// it could not be created.
func (p *Progress) takeTurns() {
	c, ok := p.world.Spec.Strategy.(spec.Canary)
	if !ok || !c.PingPong {
		return
	}
	if p.Is.StableRS != "" && p.Is.Canary.StablePingPong == v1alpha1.Ping {
		p.Is.Canary.StablePingPong = v1alpha1.Pong
	} else {
		p.Is.Canary.StablePingPong = v1alpha1.Ping
	}
}

// Promote makes the current version the stable one.
func (p *Progress) Promote(reason string) {
	s := p.Is
	s.PauseConditions, s.ControllerPause = nil, false
	s.Abort, s.AbortedAt, s.PromoteFull = false, nil, false
	p.takeTurns()
	s.StableRS = s.CurrentPodHash
	s.BlueGreen.ScaleUpPreviewCheckPoint = false
	p.GoTo(p.world.StepCount())
	p.journal.Event(v1alpha1.EventRolloutCompleted, "Rollout completed update to revision %s (%s): %s", p.Revision(), s.CurrentPodHash, reason)
	p.journal.Note(change.TopicUpdate, s.CurrentPodHash+" is the stable version now", reason)
}
