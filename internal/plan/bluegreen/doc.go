// Package bluegreen is the strategy that brings up a full stack beside the one that serves, and switches a Service between the two.
package bluegreen

import (
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/draft"
	"github.com/sluice-delivery/sluice/internal/plan/judge"
	"github.com/sluice-delivery/sluice/internal/plan/podmeta"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/restart"
	"github.com/sluice-delivery/sluice/internal/plan/world"
)

// BlueGreen is a blue-green rollout in the course of a pass.
type BlueGreen struct {
	world   *world.World
	update  *progress.Progress
	draft   *draft.Draft
	journal *change.Journal
	restart *restart.Restart
	labels  *podmeta.Labeler
	judge   *judge.Judge
}

// New has not decided anything.
func New(w *world.World, u *progress.Progress, d *draft.Draft, r *restart.Restart, l *podmeta.Labeler, judge *judge.Judge, j *change.Journal) *BlueGreen {
	return &BlueGreen{world: w, update: u, draft: d, restart: r, labels: l, judge: judge, journal: j}
}
