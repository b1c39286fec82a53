package status

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// clock is the time that an update takes, as status.duration has it.
type clock struct {
	world   *world.World
	update  *progress.Progress
	journal *change.Journal
}

// timeUpdate keeps the clock of the update: when it began, how long people held it, when and how it ended. The first deployment has one,
// too.
func (c clock) timeUpdate() {
	if c.update.Begun || c.update.Retried {
		c.startClock()
	}
	d := c.update.Is.Duration
	if d == nil || d.FinishedAt != nil {
		return
	}
	now := c.world.Second()
	if c.update.State() == progress.Settled && c.update.Was.PromoteFull { // a threshold may promote before all pods are available
		d.CompletionStatus = v1alpha1.CompletionFastPromoted
	}
	if c.update.State() == progress.Aborted {
		d.FinishedAt, d.CompletionStatus = &now, v1alpha1.CompletionAborted
	} else if c.update.State() == progress.Settled && c.world.New.Counts().Available >= c.world.Spec.Replicas {
		d.FinishedAt, d.CompletionStatus = &now, completion(d)
	}
	c.clockManualPause(d, now)
}

// startClock starts the clock of an update that begins. In the middle of another one, going back keeps that one's clock: it ends when the
// way back has ended. Anything else supersedes it. Going back to the stable version while nothing is updated, as after an abort, takes no
// time of its own.
func (c clock) startClock() {
	running := c.update.Is.Duration
	if running != nil && running.FinishedAt != nil {
		running = nil
	}
	now := c.world.Second()
	next := &v1alpha1.RolloutDuration{RolloutStartedAt: &now}
	switch fast := c.update.Fast || c.wasStable(); {
	case c.update.Was.StableRS == "":
	case running != nil && c.goesBack():
		next = running
		next.CompletionStatus = v1alpha1.CompletionRolledBack
		if fast {
			next.CompletionStatus = v1alpha1.CompletionFastRolledBack
		}
	case running == nil && (c.wasStable() || c.update.State() == progress.Settled && !c.update.Fast): // the latter is the stable version by another name
		return
	case c.update.Fast:
		next.CompletionStatus = v1alpha1.CompletionFastRolledBack
	}
	if running != nil && next != running {
		c.journal.Note(change.TopicUpdate, "the update to "+c.update.Was.CurrentPodHash+" is superseded", "a new template came before it was done")
	}
	c.update.Is.Duration = next
}

// wasStable reports whether the new version was the stable one when this pass began. An update that begins and ends in one pass has promoted
// its version by the time the clock asks.
func (c clock) wasStable() bool {
	return c.update.Was.StableRS != "" && c.update.Was.StableRS == c.update.Is.CurrentPodHash
}

// goesBack reports whether the new version is the stable one, or older than that.
func (c clock) goesBack() bool {
	return c.wasStable() || c.world.New != nil && c.world.Stable != nil && c.world.New.CreationTimestamp.Before(&c.world.Stable.CreationTimestamp)
}

func completion(d *v1alpha1.RolloutDuration) v1alpha1.CompletionStatus {
	if d.CompletionStatus != "" {
		return d.CompletionStatus
	}
	return v1alpha1.CompletionPromoted
}

// clockManualPause adds up the time for which only a person could go on.
func (c clock) clockManualPause(d *v1alpha1.RolloutDuration, now metav1.Time) {
	held := c.heldByPerson() && d.FinishedAt == nil
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

func (c clock) heldByPerson() bool {
	if c.world.Spec.Paused {
		return true
	}
	if len(c.update.Is.PauseConditions) == 0 {
		return false
	}
	if !c.update.PausedSince(v1alpha1.PauseReasonInconclusiveAnalysis).IsZero() {
		return true
	}
	if b, ok := c.world.Spec.Strategy.(spec.BlueGreen); ok {
		return b.Gate != nil && b.Gate.Indefinite
	}
	pause, ok := c.world.Step(c.update.At()).(spec.Pause)
	return ok && pause.Indefinite
}
