// Package status writes down what a pass saw and decided: conditions, phase, counts, the clock of the update. It decides nothing.
package status

import (
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/draft"
	"github.com/sluice-delivery/sluice/internal/plan/judge"
	"github.com/sluice-delivery/sluice/internal/plan/podmeta"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/restart"
	"github.com/sluice-delivery/sluice/internal/plan/world"
)

// Status is the last part of a pass.
type Status struct {
	world   *world.World
	update  *progress.Progress
	draft   *draft.Draft
	journal *change.Journal
	restart *restart.Restart
	labels  *podmeta.Labeler
	judge   *judge.Judge

	// trouble is what keeps pods from being ready, if that was looked at.
	trouble string
	// knowsPods: this pass knows what keeps them, if anything.
	knowsPods bool
	// Written is the record, nil where nothing is to be written.
	Written *Record
}

// New has not written anything.
func New(w *world.World, u *progress.Progress, d *draft.Draft, r *restart.Restart, l *podmeta.Labeler, judge *judge.Judge, j *change.Journal) *Status {
	return &Status{world: w, update: u, draft: d, restart: r, labels: l, judge: judge, journal: j}
}
