package check

import (
	"context"
	"fmt"
	"runtime"
	"sync"
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
	// Depth how many steps the farthest is away.
	States, Transitions, Rests, Depth int
	// Took is how long that was, where somebody looked at a clock.
	Took time.Duration
	// Complete: every state was visited.
	Complete bool
	// Found is the nearest state in which a rule is broken, nil if there is none.
	Found *Counterexample
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
	// Workers are how many states are looked at together, 0 for as many as there are processors.
	Workers int
	// Exact tells states apart that differ in nothing which anybody looks at; for tests of what is left out otherwise.
	Exact bool
	// See is called for each state with a line about it, one at a time; may be nil.
	See func(summary string)
	// Tell is called now and then with how far it has come; may be nil.
	Tell func(Result)
}

// node is a state that is to be looked at.
type node struct {
	id int32
	at *state
}

// edge leads from one state to another by itself.
type edge struct {
	to    int32
	wrote bool
}

// search is one search.
type search struct {
	Limits
	world  *World
	engine explore.Engine
	canon  *sim.Canon

	mu      sync.Mutex
	seen    map[key]int32
	parents []int32
	steps   []step
	own     [][]edge
	next    []node
	result  Result
}

// Search visits every state of a world, the nearest first, until a rule is broken in one.
func Search(ctx context.Context, w *World, engine explore.Engine, limits Limits) Result {
	if limits.Workers == 0 {
		limits.Workers = runtime.GOMAXPROCS(0)
	}
	s := &search{Limits: limits, world: w, engine: engine, seen: map[key]int32{}, result: Result{World: w}}
	s.canonize()
	s.run(ctx)
	if s.result.Found == nil && s.result.Complete {
		s.live()
	}
	s.result.States = len(s.parents)
	return s.result
}

// canonize begins to write states down as the limits ask for.
func (s *search) canonize() {
	s.canon = &sim.Canon{Horizon: Horizon, Lag: s.world.Lag, Exact: s.Exact}
}

func (s *search) run(ctx context.Context) {
	first := s.world.begin(s.engine)
	k, _ := first.key(s.canon, nil)
	s.add(k, -1, step{}, first)
	for level := 0; len(s.next) > 0; level++ {
		at := s.next
		s.next, s.result.Depth = nil, level
		s.canon.Forget()
		s.expand(ctx, at)
		if ctx.Err() != nil || s.over() {
			return
		}
		if s.Tell != nil {
			so := s.result
			so.States = len(s.parents)
			s.Tell(so)
		}
	}
	s.result.Complete = true
}

// over reports whether a counterexample was found, or as many states as are wanted.
func (s *search) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.result.Found != nil || s.States > 0 && len(s.parents) > s.States
}

// expand looks at all states of a level.
func (s *search) expand(ctx context.Context, level []node) {
	var workers sync.WaitGroup
	taken := make(chan int, len(level))
	for i := range level {
		taken <- i
	}
	close(taken)
	for range s.Workers {
		workers.Go(func() {
			var buffer []byte
			for i := range taken {
				if ctx.Err() != nil || s.over() {
					return
				}
				buffer = s.visit(level[i], buffer)
				level[i].at = nil
			}
		})
	}
	workers.Wait()
}

// visit takes every step that there is from a state.
func (s *search) visit(n node, buffer []byte) []byte {
	var own []edge
	steps := n.at.steps()
	for _, what := range steps {
		next := n.at.fork()
		var k key
		wrote := false
		if next.try(what); next.referee.Fault() == nil {
			k, buffer = next.key(s.canon, buffer)
			wrote = what.kind == pass && next.referee.Writes() > 0
		}
		s.mu.Lock()
		s.result.Transitions++
		if fault := next.referee.Fault(); fault != nil {
			s.found(append(s.way(n.id), what), fault)
			s.mu.Unlock()
			return buffer
		}
		id, known := s.seen[k]
		if !known {
			id = s.add(k, n.id, what, next)
		}
		s.mu.Unlock()
		if what.own() {
			own = append(own, edge{id, wrote})
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.own[n.id] = own
	if len(own) == 0 {
		s.result.Rests++
		n.at.rest()
		if fault := n.at.referee.Fault(); fault != nil {
			s.found(s.way(n.id), fault)
		}
	}
	return buffer
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

// rest checks a state in which nothing happens any more unless somebody does something.
func (s *state) rest() {
	s.referee.Rest()
	if s.referee.Fault() != nil || s.now.Rollout() == nil {
		return
	}
	if why := s.stuck(); why != "" {
		s.referee.Fail("live", why+": "+s.referee.Summary())
	}
}

// add notes a state that nobody has seen yet.
func (s *search) add(k key, parent int32, by step, at *state) int32 {
	id := int32(len(s.parents))
	s.seen[k] = id
	s.parents, s.steps, s.own = append(s.parents, parent), append(s.steps, by), append(s.own, nil)
	s.next = append(s.next, node{id, at})
	if s.See != nil {
		s.See(at.referee.Summary())
	}
	return id
}

// found notes the first counterexample of a level.
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
