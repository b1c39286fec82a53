// Package move goes from what was observed toward what a strategy wants, as far as that is safe in this reconcile. Nothing else holds a move back.
//
// Moves are held back by promises ([Promises]). Each promise has rules for the moves that could break it: pods of a version, the selector of a
// Service, a weight. A rule takes what is wanted and returns as much of it as keeps the promise. The rules are applied in the order of
// their lists (sizesByPods, sizesByWeight, ...). Three guards are not in a list, since they hold for a whole reconcile or need no order: [Frozen]
// (frozen), delays of unused versions (retire.go), and [Release] (giveback.go, release.go). Requests are split between versions in three
// ways, which differ in what is known about who serves:
//
//	ByPods      a canary without a router: a client of a Service reaches any of its pods, and the number of clients is unknown
//	ByWeight    a canary whose traffic routers split: the share of each Service is read from the routes
//	BySwitch    blue-green: the active Service has all of it
package move

import (
	"slices"
	"strings"

	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/draft"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/world"
)

// scene is what every rule may look at.
type scene struct {
	world   *world.World
	update  *progress.Progress
	draft   *draft.Draft
	journal *change.Journal
	// without is the one rule that is left out, if any.
	without string
}

// kept are the rules of a list without the one that is left out.
func kept[F any](by scene, rules []rule[F]) []rule[F] {
	return slices.DeleteFunc(slices.Clone(rules), func(r rule[F]) bool { return strings.HasSuffix(by.without, "/"+r.id) })
}

// Mover has what all moves share: who is reached by which Service, delays, and giving back.
type Mover struct{ scene }

// New has not moved anything. It leaves out one rule of [Rules]: none where without is empty, as it is for everybody but tests.
func New(w *world.World, u *progress.Progress, d *draft.Draft, j *change.Journal, without string) *Mover {
	return &Mover{scene{world: w, update: u, draft: d, journal: j, without: without}}
}
