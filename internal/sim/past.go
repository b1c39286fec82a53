package sim

import "slices"

// remembered is how many earlier states of each kind a stale view may show.
const remembered = 32

// past is the states that all objects of a kind have had, as a watch would have shown them, the newest last.
type past[S any] struct {
	states []S
	// unseen is how many of the newest a view does not show yet. It never goes back behind what it showed before, nor behind the
	// controllers' own last write: they wait for that.
	unseen int
}

func (p *past[S]) add(state S) {
	p.states = append(p.states, state)
	p.unseen++
	if n := len(p.states); n > 2*remembered {
		p.states = slices.Clone(p.states[n-remembered:])
	}
}

// see is the state that a watch shows when it is `back` states late.
func (p *past[S]) see(back int) S {
	n := len(p.states)
	p.unseen = max(0, min(back, p.unseen, n-1, remembered-1))
	return p.seen()
}

// seen is what the watch has shown last.
func (p *past[S]) seen() (state S) {
	if n := len(p.states); n > 0 {
		state = p.states[n-1-min(p.unseen, n-1)]
	}
	return state
}
