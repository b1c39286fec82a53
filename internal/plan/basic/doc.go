// Package basic is the canary without a router: the share of the pods is the share of the traffic.
package basic

import (
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/draft"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/restart"
	"github.com/sluice-delivery/sluice/internal/plan/world"
)

// Canary is a canary without a router in the course of a pass.
type Canary struct {
	world   *world.World
	update  *progress.Progress
	draft   *draft.Draft
	journal *change.Journal
	restart *restart.Restart
}

// New has not decided anything.
func New(w *world.World, u *progress.Progress, d *draft.Draft, r *restart.Restart, j *change.Journal) *Canary {
	return &Canary{world: w, update: u, draft: d, restart: r, journal: j}
}
