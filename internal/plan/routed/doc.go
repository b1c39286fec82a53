// Package routed is the canary whose traffic is split by routers: weights move the traffic, and pods follow.
package routed

import (
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/draft"
	"github.com/sluice-delivery/sluice/internal/plan/judge"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/restart"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// Canary is a canary with routers in the course of a pass: what it knows of the split, and what it decides about it.
type Canary struct {
	world   *world.World
	update  *progress.Progress
	draft   *draft.Draft
	journal *change.Journal
	restart *restart.Restart
	judge   *judge.Judge

	spec.Traffic
	canary spec.Canary
	target *target
	split  *split
}

// New has not looked at the routers yet.
func New(w *world.World, u *progress.Progress, d *draft.Draft, r *restart.Restart, judge *judge.Judge, j *change.Journal, c spec.Canary) *Canary {
	t := &target{world: w, update: u, canary: c}
	return &Canary{
		world: w, update: u, draft: d, restart: r, judge: judge, journal: j, Traffic: *c.Traffic, canary: c,
		target: t, split: newSplit(t, d, judge, j),
	}
}
