// Package progress is where an update stands: the status as it is being written, with what people asked for, the step, pauses, verdicts and
// conditions. It says what is so; which pods and routes follow from that is for the rooms above.
package progress

import (
	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// Progress is the status of one Rollout in the course of one pass.
type Progress struct {
	world   *world.World
	journal *change.Journal

	// Was is the status as observed, Is the one to record, still being written.
	Was, Is *v1alpha1.RolloutStatus
	// Annotations of the Rollout to set.
	Annotations map[string]string
	// Begun and Retried say what happened in this pass that conditions report.
	Begun, Retried bool
	// Fast: this pass has found that the update goes back to a version that has all its pods still.
	Fast bool
	// Serving is the version that the active Service of a blue-green rollout ought to select; nil until that is decided.
	Serving *world.Version
	// Problems are what is wrong with the objects that the spec names.
	Problems []spec.Problem
	// Failure is why the update is to be aborted, if so. The abort is recorded last, and the next pass acts on it.
	Failure string
	// Aborted is why the controller has aborted the update in this pass, if so.
	Aborted string
	// Expired is the AnalysisRun whose time is up.
	Expired string
}

// New begins with the status as it was observed.
func New(w *world.World, j *change.Journal) *Progress {
	was := &w.Rollout.Status
	return &Progress{world: w, journal: j, Was: was, Is: was.DeepCopy(), Annotations: map[string]string{}}
}
