package status

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// timeUpdate keeps the clock of the update: when it began, how long people held it, when and how it ended. The first deployment has one,
// too.
func (p *Status) timeUpdate() {
	if p.update.Begun || p.update.Retried {
		p.startClock()
	}
	d := p.update.Is.Duration
	if d == nil || d.FinishedAt != nil {
		return
	}
	now := p.world.Second()
	if p.update.State() == progress.Settled && p.update.Was.PromoteFull { // a threshold may promote before all pods are available
		d.CompletionStatus = v1alpha1.CompletionFastPromoted
	}
	if p.update.State() == progress.Aborted {
		d.FinishedAt, d.CompletionStatus = &now, v1alpha1.CompletionAborted
	} else if p.update.State() == progress.Settled && p.world.New.Fleet().Available >= p.world.Spec.Replicas {
		d.FinishedAt, d.CompletionStatus = &now, completion(d)
	}
	p.clockManualPause(d, now)
}

// startClock starts the clock of an update that begins. In the middle of another one, going back keeps that one's clock: it ends when the
// way back has ended. Anything else supersedes it. Going back to the stable version while nothing is updated, as after an abort, takes no
// time of its own.
func (p *Status) startClock() {
	running := p.update.Is.Duration
	if running != nil && running.FinishedAt != nil {
		running = nil
	}
	now := p.world.Second()
	next := &v1alpha1.RolloutDuration{RolloutStartedAt: &now}
	switch fast := p.update.Fast || p.wasStable(); {
	case p.update.Was.StableRS == "":
	case running != nil && p.goesBack():
		next = running
		next.CompletionStatus = v1alpha1.CompletionRolledBack
		if fast {
			next.CompletionStatus = v1alpha1.CompletionFastRolledBack
		}
	case running == nil && (p.wasStable() || p.update.State() == progress.Settled && !p.update.Fast): // the latter is the stable version by another name
		return
	case p.update.Fast:
		next.CompletionStatus = v1alpha1.CompletionFastRolledBack
	}
	if running != nil && next != running {
		p.journal.Note(change.TopicUpdate, "the update to "+p.update.Was.CurrentPodHash+" is superseded", "a new template came before it was done")
	}
	p.update.Is.Duration = next
}

// wasStable reports whether the new version was the stable one when this pass began. An update that begins and ends in one pass has promoted
// its version by the time the clock asks.
func (p *Status) wasStable() bool {
	return p.update.Was.StableRS != "" && p.update.Was.StableRS == p.update.Is.CurrentPodHash
}

// goesBack reports whether the new version is the stable one, or older than that.
func (p *Status) goesBack() bool {
	return p.wasStable() || p.world.New != nil && p.world.Stable != nil && p.world.New.CreationTimestamp.Before(&p.world.Stable.CreationTimestamp)
}

func completion(d *v1alpha1.RolloutDuration) v1alpha1.CompletionStatus {
	if d.CompletionStatus != "" {
		return d.CompletionStatus
	}
	return v1alpha1.CompletionPromoted
}

// clockManualPause adds up the time for which only a person could go on.
func (p *Status) clockManualPause(d *v1alpha1.RolloutDuration, now metav1.Time) {
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

func (p *Status) heldByPerson() bool {
	if p.world.Spec.Paused {
		return true
	}
	if len(p.update.Is.PauseConditions) == 0 {
		return false
	}
	if !p.update.PausedSince(v1alpha1.PauseReasonInconclusiveAnalysis).IsZero() {
		return true
	}
	if b, ok := p.world.Spec.Strategy.(spec.BlueGreen); ok {
		return b.Gate != nil && b.Gate.Indefinite
	}
	if p.update.At() == p.world.StepCount() {
		return false
	}
	pause, ok := p.world.Steps()[p.update.At()].(spec.Pause)
	return ok && pause.Indefinite
}
