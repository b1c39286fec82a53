package check

import (
	"context"
	"slices"
	"sync"

	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/sim/explore"
)

// What a step leads to does not depend on what may still happen after it. So a search computes it once for each place, which is a cluster
// with its controller and what the rules remember, and not once for each state, of which there are many to a place.

// class is a kind of step that is computed together: what happens by itself, and what happens only as often as a world allows.
type class int

const (
	own       class = iota // what happens by itself
	moved                  // what people and fate do
	late                   // a deadline that comes before what is due
	crashed                // a pass that ends in the middle
	lagged                 // a pass that sees old objects, and another one may after it
	laggedEnd              // one after which none may
	laggedCrashed
	laggedEndCrashed
	number
)

// classes are a set of them.
type classes uint16

func (c *classes) put(one class, is bool) {
	if is {
		*c |= 1 << one
	}
}

// place is where states are that differ in nothing but what may still happen.
type place struct {
	// at is the place itself, nil once it was dropped: parent and by say how to come back.
	at     *state
	parent int32
	by     step
	// lags: passes may still see old objects, which are kept for them.
	lags  bool
	done  classes
	links [number][]link
	// quiet is the place among the links, counted from one, of the first own step that is a quiet delivery; 0 for none.
	quiet int
	// fault is what is wrong with a place where nothing happens by itself.
	fault *explore.Fault
	// reached is the first state here, negative for none yet.
	reached int32
}

// link is a step, and where it leads; a negative place is that of a fault, from -1 on.
type link struct {
	what   step
	to     int32
	writes uint8
}

// kept is how many places a search remembers as they are. The others are built again where a state with more left comes to them.
const kept = 100_000

// graph is the places of a world.
type graph struct {
	world   *World
	engine  explore.Engine
	canon   *sim.Canon
	workers int

	mu     sync.Mutex
	known  map[key]int32
	places []place
	faults []*explore.Fault
	oldest int32
}

func newGraph(w *World, engine explore.Engine, canon *sim.Canon, workers int) *graph {
	g := &graph{world: w, engine: engine, canon: canon, workers: workers, known: map[key]int32{}}
	first := w.begin(engine)
	k, _ := first.key(canon, nil)
	g.add(k, -1, step{}, first)
	return g
}

// compute computes steps of places.
func (g *graph) compute(ctx context.Context, wanted map[int32]classes) {
	g.canon.Forget()
	type job struct {
		id   int32
		want classes
	}
	var jobs []job
	for id, want := range wanted {
		if want &^= g.places[id].done; want != 0 {
			jobs = append(jobs, job{id, want})
		}
	}
	slices.SortFunc(jobs, func(a, b job) int { return int(a.id - b.id) })
	taken := make(chan job, len(jobs))
	for _, j := range jobs {
		taken <- j
	}
	close(taken)
	var workers sync.WaitGroup
	for range g.workers {
		workers.Go(func() {
			var buffer []byte
			for j := range taken {
				if ctx.Err() != nil {
					return
				}
				buffer = g.expand(j.id, j.want, buffer)
			}
		})
	}
	workers.Wait()
}

// expand takes steps from a place.
func (g *graph) expand(id int32, want classes, buffer []byte) []byte {
	at := g.build(id)
	g.mu.Lock()
	p := g.places[id] // a copy: places move
	g.mu.Unlock()
	for class := range number {
		if want&(1<<class) == 0 {
			continue
		}
		for _, what := range at.stepsOf(class, p.links) {
			var l link
			var next *state
			l, next, buffer = g.follow(id, at, what, class, buffer)
			p.links[class] = append(p.links[class], l)
			if class == own && p.quiet == 0 && at.quiet(what, next, g.canon) {
				p.quiet = len(p.links[class])
			}
		}
		if class == own && len(p.links[own]) == 0 {
			still := at.fork()
			still.rest()
			p.fault = still.referee.Fault()
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := &g.places[id]
	now.links, now.quiet, now.fault, now.done = p.links, p.quiet, p.fault, p.done|want
	return buffer
}

// follow takes a step from a place, and finds the place where it leads.
func (g *graph) follow(id int32, at *state, what step, by class, buffer []byte) (link, *state, []byte) {
	next := at.fork()
	next.allow(at.left.stale > 0 && by != laggedEnd && by != laggedEndCrashed, what)
	l := link{what: what}
	next.try(what)
	if what.kind == pass {
		l.writes = uint8(next.referee.Writes())
	}
	if fault := next.referee.Fault(); fault != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.faults = append(g.faults, fault)
		l.to = int32(-len(g.faults))
		return l, next, buffer
	}
	if at.left.stale > 0 && next.left.stale == 0 {
		next = next.fork() // which forgets what nobody will see
	}
	k, buffer := next.key(g.canon, buffer)
	g.mu.Lock()
	defer g.mu.Unlock()
	to, known := g.known[k]
	if !known {
		to = g.add(k, id, what, next)
	}
	l.to = to
	return l, next, buffer
}

// add notes a place.
func (g *graph) add(k key, parent int32, by step, at *state) int32 {
	id := int32(len(g.places))
	g.known[k] = id
	g.places = append(g.places, place{at: at, parent: parent, by: by, lags: at.left.stale > 0, reached: -1})
	for id-g.oldest >= kept {
		g.oldest++
		g.places[g.oldest].at = nil // never the first one: from there on everything can be built again
	}
	return id
}

// build is a place as it is. Nobody may change it.
func (g *graph) build(id int32) *state {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.rebuild(id)
}

func (g *graph) rebuild(id int32) *state {
	p := &g.places[id]
	if p.at != nil {
		return p.at
	}
	at := g.rebuild(p.parent).fork()
	at.allow(p.lags, p.by)
	at.do(p.by)
	if !p.lags {
		at = at.fork()
	}
	return at
}

// allow has a state allow a step, and passes with old objects after it if there are to be any.
func (s *state) allow(lags bool, what step) {
	s.left = budget{}
	if lags {
		s.left.stale = 1
	}
	if what.behind != (behind{}) {
		s.left.stale++
	}
}
