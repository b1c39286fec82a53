package shell

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/internal/sim"
)

// Reach is a write of a pass: the object that the pass is over, and the one that it writes.
type Reach struct {
	For  types.NamespacedName
	Kind kind
	Verb string
	To   types.NamespacedName
}

// Spent is what a pass has spent: requests to caches and to the API server, and questions to the engine.
type Spent struct{ Requests, Rounds int }

func (s Spent) exceeds(limit Spent) bool {
	return limit.Requests > 0 && s.Requests > limit.Requests || limit.Rounds > 0 && s.Rounds > limit.Rounds
}

// spend notes a request of the pass.
func (p *process) spend() {
	if p.current == nil && p.working {
		p.spent.Requests++
		p.hold()
	}
}

// ask notes a question of the pass to the engine.
func (p *process) ask() {
	p.spent.Rounds++
	p.hold()
}

// hold ends a pass that has spent too much, so that a history can tell of one that would not end by itself.
func (p *process) hold() {
	if p.spent.exceeds(p.shell.Limit) {
		panic(crash{}) // OnSpent is called when the reconcile is over
	}
}

// atHome reports whether the pass is over an object that the World plays.
func (p *process) atHome() bool { return p.key.Namespace == sim.Home }
