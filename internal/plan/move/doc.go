// Package move goes from what is to what a strategy wants, as far as that is safe in this pass. It is the only place where anything is held back.
//
// What holds it back are promises ([Promises]). Each has rules for the moves that could break it: pods of a version, a Service that is
// pointed elsewhere, a weight. A rule takes what is wanted and leaves as much of it as keeps the promise. The rules are applied in the order of
// their lists (sizesByPods, sizesByWeight, ...). Three guards are not in a list, since they hold for a whole pass or need no order: [Frozen]
// (frozen), delays of versions of no use (retire.go) and [Release] (giveback.go, release.go). There are three ways in which requests are split between versions, and what is known of who
// serves differs between them:
//
//	ByPods      a canary without a router: whoever asks a Service gets one of its pods, and nobody knows how many ask
//	ByWeight    a canary whose traffic routers split: how much goes to which Service is read from their objects
//	BySwitch    blue-green: the active Service has all of it
package move

import (
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

// lacks reports whether a rule is left out.
func (s scene) lacks(id string) bool { return s.without != "" && strings.HasSuffix(s.without, "/"+id) }

// Mover has what all moves share: who is reached by which Service, delays, and giving back.
type Mover struct{ scene }

// New has not moved anything. It leaves out one rule of [Rules]: none where without is empty, as it is for everybody but tests.
func New(w *world.World, u *progress.Progress, d *draft.Draft, j *change.Journal, without string) *Mover {
	return &Mover{scene{world: w, update: u, draft: d, journal: j, without: without}}
}
