// Package canary is the canary strategy: steps, and the promotion after the last one.
package canary

import (
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/basic"
	"github.com/sluice-delivery/sluice/internal/plan/draft"
	"github.com/sluice-delivery/sluice/internal/plan/judge"
	"github.com/sluice-delivery/sluice/internal/plan/podmeta"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/restart"
	"github.com/sluice-delivery/sluice/internal/plan/routed"
	"github.com/sluice-delivery/sluice/internal/plan/world"
)

// Canary is a canary in the course of a pass.
type Canary struct {
	world   *world.World
	update  *progress.Progress
	draft   *draft.Draft
	journal *change.Journal
	restart *restart.Restart
	labels  *podmeta.Labeler
	judge   *judge.Judge
	basic   *basic.Canary
	// routing is the split of the traffic; nil where the share of the pods is the share of the traffic.
	routing *routed.Canary
}

// New has not decided anything.
func New(w *world.World, u *progress.Progress, d *draft.Draft, r *restart.Restart, l *podmeta.Labeler, judge *judge.Judge, j *change.Journal) *Canary {
	return &Canary{world: w, update: u, draft: d, restart: r, labels: l, judge: judge, basic: basic.New(w, u, d, r, j), journal: j}
}
