// Package judge begins the analyses and Experiments of an update, waits for them, judges by them, ends and forgets them.
package judge

import (
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/draft"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/world"
)

// Judge is what a pass does about analyses and Experiments.
type Judge struct {
	world   *world.World
	update  *progress.Progress
	draft   *draft.Draft
	journal *change.Journal
}

// New has not begun anything.
func New(w *world.World, u *progress.Progress, d *draft.Draft, j *change.Journal) *Judge {
	return &Judge{world: w, update: u, draft: d, journal: j}
}
