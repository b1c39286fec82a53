package check

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/sim/explore"
)

// Horizon is longer than every duration that a decision in one of the worlds depends on.
const Horizon = time.Hour

// Result is what came of a search.
type Result struct {
	World *World
	// States are how many there are, Transitions how many steps lead from one to another, Rests in how many states nothing more happens, and
	// Depth how many steps the farthest is away. Places are how many there are where it makes no difference what may still happen.
	States, Places, Transitions, Rests, Depth int
	// Took is how much processor time that was, if it was measured.
	Took time.Duration
	// Complete: every state was visited.
	Complete bool
	// Found is the nearest state in which a rule is broken, nil if there is none.
	Found *Counterexample
}

// Seen is a place that a search came to, for tests that compare searches.
type Seen struct {
	Summary string
	Key     [16]byte
	// Quiet: a delivery is due there that changes nothing.
	Quiet bool
}

// Counterexample is the shortest way to a state in which a rule is broken.
type Counterexample struct {
	Rule, Text string
	steps      []step
	// again are steps that lead from the last state back to it.
	again []step
}

// Limits are how far a search goes.
type Limits struct {
	// States is the number of states after which it expands no more of them, 0 for all there are.
	States int
	// Workers are how many places are expanded at the same time, 0 for as many as there are processors.
	Workers int
	// Exact tells states apart that differ in nothing which anybody looks at; for tests of what is left out otherwise.
	Exact bool
	// Unreduced takes every step from every state, where quiet deliveries are due too; for tests of what the reduction leaves out.
	Unreduced bool
	// See is called for each place that was reached when the search is over; may be nil.
	See func(Seen)
	// Tell is called now and then with how far it has come; may be nil.
	Tell func(Result)
}

// node is a state: where it is, and what may still happen.
type node struct {
	place int32
	left  uint64
}

// search is one search: of the graph of places, which is computed as far as it is needed, times what may still happen.
type search struct {
	Limits
	*graph
	seen map[node]int32
	// parents and steps lead back from each state, last are those of the last level.
	parents []int32
	steps   []step
	last    []node
	result  Result
}

// Search visits every state of a world, the nearest first, until a rule is broken in one.
func Search(ctx context.Context, w *World, engine explore.Engine, limits Limits) Result {
	if limits.Workers == 0 {
		limits.Workers = runtime.GOMAXPROCS(0)
	}
	s := newSearch(w, engine, limits)
	s.run(ctx)
	if s.result.Found == nil && s.result.Complete {
		s.live()
	}
	s.see()
	s.result.States = len(s.parents)
	return s.result
}

func newSearch(w *World, engine explore.Engine, limits Limits) *search {
	canon := &sim.Canon{Horizon: Horizon, Lag: w.Lag, Late: w.Delays > 0 || limits.Exact, Exact: limits.Exact}
	s := &search{Limits: limits, graph: newGraph(w, engine, canon, limits.Workers), seen: map[node]int32{}, result: Result{World: w}}
	s.add(node{0, w.budget().pack()}, -1, step{})
	return s
}

func (s *search) run(ctx context.Context) {
	for level := 0; len(s.last) > 0; level++ {
		at, first := s.last, len(s.parents)-len(s.last)
		s.last, s.result.Depth = nil, level
		s.compute(ctx, s.wanted(at))
		if ctx.Err() != nil {
			return
		}
		for i, n := range at {
			s.visit(n, int32(first+i))
			if s.result.Found != nil {
				return
			}
		}
		if s.States > 0 && len(s.parents) > s.States {
			return
		}
		if s.Tell != nil {
			so := s.result
			so.States, so.Places = len(s.parents), len(s.places)
			s.Tell(so)
		}
	}
	s.result.Complete = true
}

// wanted is which steps of which places the states of a level need.
func (s *search) wanted(level []node) map[int32]classes {
	want := map[int32]classes{}
	for _, n := range level {
		want[n.place] |= unpack(n.left).classes()
	}
	return want
}

// visit takes every step that there is from a state.
func (s *search) visit(n node, id int32) {
	p, left := &s.places[n.place], unpack(n.left)
	if p.reached < 0 {
		p.reached = id
	}
	if len(p.links[own]) == 0 {
		s.result.Rests++
		if p.fault != nil {
			s.found(s.way(id), p.fault)
			return
		}
	}
	if p.quiet > 0 && !s.Unreduced && left.delays == 0 && left.stale == 0 {
		s.take(p.links[own][:p.quiet], left, id)
		return
	}
	for class := range p.links {
		if left.classes()&(1<<class) != 0 {
			s.take(p.links[class], left, id)
		}
	}
}

// take takes steps, as far as what may still happen has them.
func (s *search) take(links []link, left budget, from int32) {
	for _, l := range links {
		after, ok := left.after(l.what)
		if !ok {
			continue
		}
		s.result.Transitions++
		if l.to < 0 {
			s.found(append(s.way(from), l.what), s.faults[-l.to-1])
			return
		}
		s.add(node{l.to, after.pack()}, from, l.what)
	}
}

// add notes a state, if nobody has seen it yet.
func (s *search) add(n node, parent int32, by step) {
	if _, known := s.seen[n]; known {
		return
	}
	s.seen[n] = int32(len(s.parents))
	s.parents, s.steps, s.last = append(s.parents, parent), append(s.steps, by), append(s.last, n)
}

// found notes the first counterexample.
func (s *search) found(steps []step, fault *explore.Fault) {
	if s.result.Found == nil {
		s.result.Found = &Counterexample{Rule: fault.Rule, Text: fault.Text, steps: steps}
	}
}

// way are the steps that lead to a state.
func (s *search) way(id int32) []step {
	var back []step
	for ; id > 0; id = s.parents[id] {
		back = append(back, s.steps[id])
	}
	way := make([]step, 0, len(back)+1)
	for i := range back {
		way = append(way, back[len(back)-1-i])
	}
	return way
}

// see counts the places that were reached, and shows them.
func (s *search) see() {
	for i := range s.places {
		p := &s.places[i]
		if p.reached < 0 {
			continue
		}
		s.result.Places++
		if s.See != nil {
			at := s.build(int32(i))
			k, _ := at.key(s.canon, nil)
			s.See(Seen{Summary: at.referee.Summary(), Key: k, Quiet: p.quiet > 0})
		}
	}
}

// try takes a step, and has a panic be the fault that it is.
func (s *state) try(what step) {
	defer func() {
		if r := recover(); r != nil {
			s.referee.Fail("panic", fmt.Sprint(r))
		}
	}()
	s.do(what)
}

// rest checks a state in which nothing more happens unless a user acts.
func (s *state) rest() {
	s.referee.Rest()
	if s.referee.Fault() != nil || s.now.Rollout() == nil {
		return
	}
	if why := s.stuck(); why != "" {
		s.referee.Fail("live", why+": "+s.referee.Summary())
	}
}
