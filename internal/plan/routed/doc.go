// Package routed is a canary whose traffic routers split: what its step wants ([Want]), what the routers do and what they are told ([Split]).
package routed

import (
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/draft"
	"github.com/sluice-delivery/sluice/internal/plan/judge"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// New has not looked at the routers yet.
func New(w *world.World, u *progress.Progress, d *draft.Draft, judge *judge.Judge, j *change.Journal, c spec.Canary) (*Want, *Split) {
	t := &Want{world: w, update: u, canary: c}
	t.split = newSplit(t, d, judge, j)
	return t, t.split
}
