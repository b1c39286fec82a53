package plan

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// timeUpdate keeps the clock of the update: when it began, how long people held it, when and how it ended. The first deployment has one,
// too.
func (p *pass) timeUpdate() {
	if p.begun || p.retried {
		p.startClock()
	}
	d := p.is.Duration
	if d == nil || d.FinishedAt != nil {
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
}

// startClock starts the clock of an update that begins. In the middle of another one, going back keeps that one's clock: it ends when the
// way back has ended. Anything else supersedes it. Going back to the stable version while nothing is updated, as after an abort, takes no
// time of its own.
func (p *pass) startClock() {
	running := p.is.Duration
	if running != nil && running.FinishedAt != nil {
		running = nil
	}
	now := p.now()
	next := &v1alpha1.RolloutDuration{RolloutStartedAt: &now}
	switch fast := p.fast || p.wasStable(); {
	case p.was.StableRS == "":
	case running != nil && p.goesBack():
		next = running
		next.CompletionStatus = v1alpha1.CompletionRolledBack
		if fast {
			next.CompletionStatus = v1alpha1.CompletionFastRolledBack
		}
	case running == nil && (p.wasStable() || p.promoted() && !p.fast): // the latter is the stable version by another name
		return
	case p.fast:
		next.CompletionStatus = v1alpha1.CompletionFastRolledBack
	}
	if running != nil && next != running {
		p.Note(change.TopicUpdate, "the update to "+p.was.CurrentPodHash+" is superseded", "a new template came before it was done")
	}
	p.is.Duration = next
}

// wasStable reports whether the new version was the stable one when this pass began. An update that begins and ends in one pass has promoted
// its version by the time the clock asks.
func (p *pass) wasStable() bool { return p.was.StableRS != "" && p.was.StableRS == p.is.CurrentPodHash }

// goesBack reports whether the new version is the stable one, or older than that.
func (p *pass) goesBack() bool {
	return p.wasStable() || p.new != nil && p.stable != nil && p.new.CreationTimestamp.Before(&p.stable.CreationTimestamp)
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
		total := int64(now.Sub(d.ManualPauseStartedAt.Time) / time.Second)
		if before := d.TotalManualPauseDurationSeconds; before != nil {
			total += *before
		}
		d.TotalManualPauseDurationSeconds = &total
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
