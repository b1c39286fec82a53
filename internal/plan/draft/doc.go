// Package draft collects the writes of a pass: sizes and annotations of ReplicaSets, what Services select, objects of routers, and the order in
// which all of that is safe. All changes of one object are one write.
package draft

import (
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/world"
)

// Draft is the writes of one pass, as they come.
type Draft struct {
	world   *world.World
	update  *progress.Progress
	journal *change.Journal

	// Create is the new version's ReplicaSet while there is none.
	Create *change.CreateReplicaSet
	// edits are the ReplicaSets that change, by name.
	edits map[string]*edit
	// serviceEdits are the Services that change, by name.
	serviceEdits map[string]change.UpdateService
	// RouteWrites are the changes to objects of traffic routers, in the order of the routers.
	RouteWrites []change.Change
	// Tied are those of RouteWrites, and of the releases that the API server refuses, for which pods and Services wait.
	Tied int
	// Carrying is a Service that the spec does not name any more and that carries a weight still, empty if there is none: it is not released yet.
	Carrying string
	// Unreleased are why objects of traffic routers cannot be released.
	Unreleased []string
	// Held: traffic would come back to the stable version, and how many pods that has is not known yet, or too few. Routers are left as they
	// are: after a crash some may have given back more than the others, or have been given more than the status tells.
	Held bool
	// Cramped is why the new version, or the stable one beside it, does not get all its pods, and the remedy; empty if it gets them.
	Cramped string
	// Grow, Route, Judge, Shrink and Label are the plan's changes, in the plan's order.
	Grow, Route, Judge, Shrink, Label []change.Change
}

// New is an empty draft.
func New(w *world.World, u *progress.Progress, j *change.Journal) *Draft {
	return &Draft{world: w, update: u, journal: j, edits: map[string]*edit{}, serviceEdits: map[string]change.UpdateService{}}
}
