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
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/routers"
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
	canary  spec.Canary
	routers []traffic.Router
	// stableService and canaryService are the Services by the part that they play now.
	stableService, canaryService spec.Reference
	// now is the weight of the canary Service: as the status has it, or as routers are known to have it that are elsewhere.
	now int32
	// experiments are what the templates of an experiment are to get, additional those of them that routers may be told of.
	experiments, additional []traffic.Destination
	// inForce: before this pass every router was seen to carry out that weight. Only then is it known who carries what.
	inForce bool
	// next is the split to come to in this pass.
	next traffic.Split
}

// New has not looked at the routers yet.
func New(w *world.World, u *progress.Progress, d *draft.Draft, r *restart.Restart, judge *judge.Judge, j *change.Journal, c spec.Canary) *Canary {
	return &Canary{
		world: w, update: u, draft: d, restart: r, judge: judge, journal: j,
		Traffic: *c.Traffic, canary: c, routers: routers.For(w.RouteOwner(), c.Traffic.Routers, w.Policy),
	}
}
