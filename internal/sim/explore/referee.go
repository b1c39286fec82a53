package explore

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/sluice-delivery/sluice/internal/sim"
)

// Referee checks a World against the rules of histories, for a caller that drives the World and forks it. It cannot notice that an event
// was published twice: that would take a list of all events.
type Referee struct {
	h      *history
	writes int
	// whole: all of the last pass was done, and nothing was refused.
	whole bool
}

// NewReferee watches a World from before anything has happened there. Routed says that canaries of it have Services or routers.
func NewReferee(w *sim.World, engine Engine, routed bool) *Referee {
	h := &history{Trial: Trial{Routed: routed, Hands: true}, engine: engine, fate: &fate{}, log: func(string, ...any) {}}
	h.rules = rules{told: map[string]bool{}, weights: weights{left: map[string]departure{}}}
	h.rules.switches = switches{served: map[string]bool{}, left: map[string]departure{}, approved: map[string]bool{}}
	r := &Referee{h: h}
	r.attend(w)
	return r
}

// attend has the World tell of what happens.
func (r *Referee) attend(w *sim.World) {
	h := r.h
	h.world = &people{World: w}
	h.world.approved = func() { h.rules.approved[w.Rollout().Status.CurrentPodHash] = true }
	h.rules.history, h.rules.world = h, w
	w.Watch, w.Wrote = h.rules.watch, h.rules.wrote
	if c, ok := w.Loop().(*sim.Controller); ok {
		c.OnPlan, c.OnPass = h.rules.plan, r.pass
	}
}

// Control puts a controller in charge.
func (r *Referee) Control(c *sim.Controller) {
	c.OnPlan, c.OnPass = r.h.rules.plan, r.pass
	r.h.world.Control(c)
	r.h.rules.after()
}

func (r *Referee) pass(p sim.Pass) {
	r.writes, r.whole = p.Writes, p.Whole() && len(p.PodRefusals)+len(p.RouteRefusals) == 0
	rules := &r.h.rules
	rules.told = map[string]bool{}
	rules.passes, rules.busy = 0, 0
	rules.pass(p)
}

// Fork is the referee of a fork of the World, who knows the same.
func (r *Referee) Fork(w *sim.World) *Referee {
	h := *r.h
	next := &Referee{h: &h}
	rules := &h.rules
	rules.told = nil // which each pass begins
	rules.served, rules.approved, rules.left = maps.Clone(rules.served), maps.Clone(rules.approved), maps.Clone(rules.left)
	rules.weights.left, rules.weights.carrying = maps.Clone(rules.weights.left), maps.Clone(rules.weights.carrying)
	next.attend(w)
	return next
}

// Person has a person do something to the World.
func (r *Referee) Person(do func()) { r.h.user(do) }

// Approve notes that a person is content with the version that is being updated to.
func (r *Referee) Approve() { r.h.approve() }

// Rest checks a World in which nothing more will happen, unless a user acts.
func (r *Referee) Rest() { r.h.rules.rest() }

// Fault is the first rule that was broken, nil if none was.
func (r *Referee) Fault() *Fault { return r.h.fault }

// Writes is how many writes the last pass did.
func (r *Referee) Writes() int { return r.writes }

// Whole reports whether all of the last pass was done, with nothing refused.
func (r *Referee) Whole() bool { return r.whole }

// End checks a World in which the Rollout is Healthy and nothing will happen any more.
func (r *Referee) End() { r.h.rules.end() }

// Fail notes that one of the caller's own rules was broken.
func (r *Referee) Fail(rule, text string) { r.h.fail(rule, "%s", text) }

// Summary is how a World is doing, in a line.
func (r *Referee) Summary() string { return summary(r.h.world.World) }

// Append adds what the referee remembers of what has happened, by which worlds differ that look the same.
func (r *Referee) Append(b []byte, c *sim.Canon) []byte {
	rules, w := &r.h.rules, r.h.world.World
	for _, n := range []int{rules.serving, rules.pods, w.Drained - rules.drained, rules.floor, rules.missing, rules.ceiling} {
		b = binary.AppendVarint(b, int64(n))
	}
	text := func(s string) { b = append(append(b, s...), 0) }
	text(rules.active)
	text(rules.byHand)
	set := func(m map[string]bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			text(key)
		}
		b = append(b, 0)
	}
	set(rules.served)
	set(rules.approved)
	left := func(m map[string]departure) {
		for _, hash := range slices.Sorted(maps.Keys(m)) {
			text(hash)
			b = c.Time(b, w, m[hash].at)
			b = binary.AppendVarint(b, int64(min(m[hash].delay, c.Horizon)))
		}
		b = append(b, 0)
	}
	left(rules.left)
	left(rules.weights.left)
	set(rules.weights.carrying)
	if rules.weights.bent {
		b = append(b, 1)
	}
	return b
}
