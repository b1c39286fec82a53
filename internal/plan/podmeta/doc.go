// Package podmeta gives pods what follows from the part that their version plays: labels, annotations, and the distance from the other version.
package podmeta

import (
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/draft"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/world"
)

// Labeler is what a pass does about labels and annotations of pods.
type Labeler struct {
	world   *world.World
	update  *progress.Progress
	draft   *draft.Draft
	journal *change.Journal

	// MetadataChanged: pods get other metadata from this pass on.
	MetadataChanged bool
	// Refusals are why pods cannot be labeled, one for each pod that was looked at.
	Refusals []string
}

// New has not looked yet.
func New(w *world.World, u *progress.Progress, d *draft.Draft, j *change.Journal) *Labeler {
	return &Labeler{world: w, update: u, draft: d, journal: j}
}
