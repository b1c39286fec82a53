// Package restart replaces pods without a new version, as spec.restartAt asks.
package restart

import (
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/draft"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/world"
)

// Restart is the restart of a pass, if there is one.
type Restart struct {
	world   *world.World
	update  *progress.Progress
	draft   *draft.Draft
	journal *change.Journal

	// restart is the one that is under way, nil if there is none.
	restart *restart
}

// New has not looked yet.
func New(w *world.World, u *progress.Progress, d *draft.Draft, j *change.Journal) *Restart {
	return &Restart{world: w, update: u, draft: d, journal: j}
}
