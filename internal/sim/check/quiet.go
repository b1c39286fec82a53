package check

import (
	"bytes"

	"github.com/sluice-delivery/sluice/internal/sim"
)

// A delivery is quiet if nobody but the one who gets it can tell that it happened: the controller looks and writes nothing, or the ReplicaSet
// controller looks and finds everything as it should be. What else may happen leads to the same state before and after it (docs/design/small-worlds.md
// says why), so a state in which one is due has no other steps: TestReduction compares. That is so only where a delivery can no longer come late: where
// no pass may see old objects any more, and no deadline comes before what is due.

// quiet reports whether a step from s to next is a quiet delivery.
func (s *state) quiet(what step, next *state, c *sim.Canon) bool {
	if next.referee.Fault() != nil {
		return false
	}
	switch what.kind {
	case pass:
		due := next.now.Loop().Due()
		return what.own() && next.referee.Writes() == 0 && next.referee.Whole() && next.now.Looks == s.now.Looks &&
			(due.IsZero() || due.After(next.now.Now())) && s.same(next, c)
	case resync:
		return len(next.now.Syncable()) < len(s.now.Syncable()) && next.now.Rested(s.now) && s.same(next, c)
	case start, tell, judge, end, tick, act:
	}
	return false
}

// same reports whether the referee remembers the same in two states.
func (s *state) same(next *state, c *sim.Canon) bool {
	return bytes.Equal(s.referee.Append(nil, c), next.referee.Append(nil, c))
}
