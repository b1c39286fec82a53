package sim

import (
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
)

// Flaws are faults of the loop around the engine. The zero value has none. They are for tests of the rules that histories are held
// against: who breaks a contract of package plan must be found out.
type Flaws struct {
	// Unguarded: writes do not carry the resourceVersion that they were decided on.
	Unguarded bool
	// ForgetsOwnWrites: the caches need not show the controller's own last writes.
	ForgetsOwnWrites bool
	// ShrinksFirst: pods are deleted before others are added and traffic is moved.
	ShrinksFirst bool
	// RecordsFirst: the status is written before what it records is done.
	RecordsFirst bool
}

// order is the plan's groups in the order in which they are carried out.
func (f Flaws) order(p plan.Plan) []func(*application) {
	group := func(changes []change.Change) func(*application) {
		return func(a *application) { a.changes(changes) }
	}
	grow, route, judge, shrink, label := group(p.Grow), group(p.Route), group(p.Judge), group(p.Shrink), group(p.Label)
	record := func(a *application) {
		if p.Record != nil {
			a.record(p.Record)
		}
	}
	switch {
	case f.ShrinksFirst:
		return []func(*application){shrink, grow, route, judge, record, label}
	case f.RecordsFirst:
		return []func(*application){record, grow, route, judge, shrink, label}
	}
	return []func(*application){grow, route, judge, shrink, record, label}
}
