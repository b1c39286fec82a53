package plan

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// timeUpdate keeps the clock of the update: when it began, how long people held it, when and how it ended (behaviour.md A20).
func (p *pass) timeUpdate() {
	d := p.is.Duration
	switch {
	case p.begun && p.was.StableRS != "" || p.retried:
		d = p.startClock(d)
	case d == nil || d.FinishedAt != nil:
		return
	}
	if d == nil {
		return
	}
	now := p.now()
	if p.promoted() && p.was.PromoteFull { // a threshold may promote before all pods are available
		d.CompletionStatus = v1alpha1.CompletionFastPromoted
	}
	if p.is.Abort {
		d.FinishedAt, d.CompletionStatus = &now, v1alpha1.CompletionAborted
	} else if p.promoted() && p.new.fleet().available >= p.spec.Replicas {
		d.FinishedAt, d.CompletionStatus = &now, completion(d)
	}
	p.clockManualPause(d, now)
	p.is.Duration = d
}

// startClock starts anew, except that a rollback in the middle of an update ends that update's clock.
func (p *pass) startClock(running *v1alpha1.RolloutDuration) *v1alpha1.RolloutDuration {
	if p.promoted() && !p.fast {
		if running != nil && running.FinishedAt == nil {
			running.CompletionStatus = v1alpha1.CompletionRolledBack
			return running
		}
		return nil
	}
	now := p.now()
	started := &v1alpha1.RolloutDuration{RolloutStartedAt: &now}
	if p.fast {
		started.CompletionStatus = v1alpha1.CompletionFastRolledBack
	}
	return started
}

func completion(d *v1alpha1.RolloutDuration) v1alpha1.CompletionStatus {
	if d.CompletionStatus != "" {
		return d.CompletionStatus
	}
	return v1alpha1.CompletionPromoted
}

// clockManualPause adds up the time for which only a person could go on.
func (p *pass) clockManualPause(d *v1alpha1.RolloutDuration, now metav1.Time) {
	held := p.heldByPerson() && d.FinishedAt == nil
	switch {
	case held && d.ManualPauseStartedAt == nil:
		d.ManualPauseStartedAt = &now
	case !held && d.ManualPauseStartedAt != nil:
		d.TotalManualPauseDurationSeconds += int64(now.Sub(d.ManualPauseStartedAt.Time) / time.Second)
		d.ManualPauseStartedAt = nil
	}
}

func (p *pass) heldByPerson() bool {
	if p.spec.Paused {
		return true
	}
	if len(p.is.PauseConditions) == 0 {
		return false
	}
	if !p.pausedSince(v1alpha1.PauseReasonInconclusiveAnalysis).IsZero() {
		return true
	}
	if b, ok := p.spec.Strategy.(spec.BlueGreen); ok {
		return b.Gate != nil && b.Gate.Indefinite
	}
	if p.at() == p.stepCount() {
		return false
	}
	pause, ok := p.steps()[p.at()].(spec.Pause)
	return ok && pause.Indefinite
}
