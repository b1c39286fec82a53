// Package canary is the canary strategy: steps, and the promotion after the last one.
package canary

import (
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/judge"
	"github.com/sluice-delivery/sluice/internal/plan/move"
	"github.com/sluice-delivery/sluice/internal/plan/pluginstep"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/restart"
	"github.com/sluice-delivery/sluice/internal/plan/world"
)

// Canary is a canary in the course of a pass.
type Canary struct {
	world   *world.World
	update  *progress.Progress
	journal *change.Journal
	restart *restart.Restart
	judge   *judge.Judge
	plugins *pluginstep.Plugins
	mover   *move.Mover
	// pods and routing are the two ways in which requests are split between versions; one of them is nil.
	pods    *move.ByPods
	routing *move.ByWeight
}

// New has not decided anything.
func New(w *world.World, u *progress.Progress, r *restart.Restart, judge *judge.Judge, plugins *pluginstep.Plugins, m *move.Mover, j *change.Journal) *Canary {
	return &Canary{world: w, update: u, restart: r, judge: judge, plugins: plugins, mover: m, journal: j}
}
