package check

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/sim/explore"
)

// state is a world at a moment, with its controller, what the referee remembers, and how often what may still happen.
type state struct {
	*World
	now     *sim.World
	referee *explore.Referee
	left    budget
}

// budget is how often what may still happen: each of the world's moves, and kinds of disorder.
type budget struct {
	moves                       [16]uint8
	all, stale, crashes, delays uint8
}

// kind is what kind of thing happens.
type kind uint8

const (
	pass   kind = iota // the controller looks, decides and acts
	resync             // the ReplicaSet controller looks at a ReplicaSet
	start              // a pod becomes ready
	tell               // an AnalysisRun that was terminated ends
	judge              // an AnalysisRun comes to a verdict
	tick               // nothing happens until the next deadline
	act                // somebody does something, or something breaks
)

// step is one thing that happens.
type step struct {
	kind kind
	// which ReplicaSet, AnalysisRun or move, by its place.
	which uint8
	// verdict is the place of the verdict that an AnalysisRun comes to.
	verdict uint8
	// behind is how many writes of each kind the controller's caches are behind.
	behind behind
	// crash is after how many writes the controller's process ends; 0 for not at all.
	crash uint8
	// late: time passes although something is due.
	late bool
}

// behind is a sim.View in little room.
type behind struct{ rollout, replicaSets, services, routes, runs uint8 }

func (b behind) view() sim.View {
	return sim.View{
		Rollout: int(b.rollout), ReplicaSets: int(b.replicaSets), Services: int(b.services), Routes: int(b.routes), AnalysisRuns: int(b.runs),
	}
}

// own reports whether a step happens by itself, sooner or later, if nobody does anything.
func (s step) own() bool {
	return s.kind != act && !s.late && s.crash == 0 && s.behind == behind{}
}

// verdicts are how analyses may end.
var verdicts = []v1alpha1.AnalysisPhase{
	v1alpha1.AnalysisPhaseSuccessful, v1alpha1.AnalysisPhaseFailed, v1alpha1.AnalysisPhaseInconclusive, v1alpha1.AnalysisPhaseError,
}

// begin is the world at its beginning.
func (w *World) begin(engine explore.Engine) *state {
	s := &state{World: w, now: sim.New(sim.Options{})}
	s.referee = explore.NewReferee(s.now, engine, w.Routed)
	w.Furnish(s.now)
	ro := sim.NewRollout("web", "v1", w.Replicas)
	w.configure(ro)
	s.now.Create(ro)
	s.referee.Control(&sim.Controller{Next: engine})
	if !w.Fresh {
		s.now.Settle(Horizon)
	}
	for i, m := range w.Moves {
		s.left.moves[i] = 1 + m.More
	}
	s.left.all, s.left.stale, s.left.crashes, s.left.delays = w.Total, w.Stale, w.Crashes, w.Delays
	return s
}

// fork is the same state, to go on from in another way.
func (s *state) fork() *state {
	next := &state{World: s.World, now: s.now.Fork(s.Lag), left: s.left}
	next.referee = s.referee.Fork(next.now)
	return next
}

// steps are what may happen next, what happens by itself first.
func (s *state) steps() []step {
	if s.now.Rollout() == nil {
		return nil
	}
	var all []step
	passes := !s.now.Loop().Due().IsZero() && !s.now.Loop().Due().After(s.now.Now())
	if passes {
		all = append(all, step{kind: pass})
	}
	for i := range s.now.Syncable() {
		all = append(all, step{kind: resync, which: uint8(i)})
	}
	for i := range s.now.Starting() {
		all = append(all, step{kind: start, which: uint8(i)})
	}
	if s.now.Pronounces() {
		all = append(all, step{kind: tell})
	}
	for i, run := range s.now.Runs() {
		if !analysis.Ended(run.Status.Phase) && !run.Spec.Terminate {
			for v := range verdicts {
				all = append(all, step{kind: judge, which: uint8(i), verdict: uint8(v)})
			}
		}
	}
	if at := s.now.Deadline(); !at.IsZero() {
		switch {
		case len(all) == 0:
			all = append(all, step{kind: tick})
		case s.left.delays > 0:
			all = append(all, step{kind: tick, late: true})
		}
	}
	if passes {
		all = s.disorder(all)
	}
	if s.left.all == 0 {
		return all
	}
	for i, m := range s.Moves {
		if s.left.moves[i] > 0 && (m.Can == nil || m.Can(s.now)) {
			all = append(all, step{kind: act, which: uint8(i)})
		}
	}
	return all
}

// disorder adds passes of a controller whose caches are behind, or whose process ends in the middle.
func (s *state) disorder(all []step) []step {
	views := []behind{{}}
	if s.left.stale > 0 {
		views = s.views()
	}
	for _, v := range views {
		if v != (behind{}) {
			all = append(all, step{kind: pass, behind: v})
		}
		if s.left.crashes == 0 {
			continue
		}
		for n := 1; n < s.writes(v); n++ {
			all = append(all, step{kind: pass, behind: v, crash: uint8(n)})
		}
	}
	return all
}

// writes is how many writes the next pass does.
func (s *state) writes(v behind) int {
	trial := s.fork()
	trial.try(step{kind: pass, behind: v})
	return trial.referee.Writes()
}

// views are all that the controller may see, of what its caches may still be behind.
func (s *state) views() (all []behind) {
	most := s.now.Unseen(s.Lag)
	for a := range most.Rollout + 1 {
		for b := range most.ReplicaSets + 1 {
			for c := range most.Services + 1 {
				for d := range most.Routes + 1 {
					for e := range most.AnalysisRuns + 1 {
						all = append(all, behind{uint8(a), uint8(b), uint8(c), uint8(d), uint8(e)})
					}
				}
			}
		}
	}
	return all
}

// do lets a step happen.
func (s *state) do(next step) {
	switch next.kind {
	case pass:
		loop := s.now.Loop().(*sim.Controller)
		loop.View, loop.CrashAfter = nil, nil
		if next.behind != (behind{}) {
			s.left.stale--
			loop.View = func() sim.View { return next.behind.view() }
		}
		if next.crash > 0 {
			s.left.crashes--
			loop.CrashAfter = func() int { return int(next.crash) }
		}
		loop.Act()
	case resync:
		s.now.Sync(s.now.Syncable()[next.which])
	case start:
		s.now.StartPod(s.now.Starting()[next.which])
	case tell:
		s.now.Pronounce()
	case judge:
		s.now.Judge(s.now.Runs()[next.which], verdicts[next.verdict])
	case tick:
		if next.late {
			s.left.delays--
		}
		s.now.Jump(s.now.Deadline().Sub(s.now.Now()))
	case act:
		s.left.moves[next.which]--
		s.left.all--
		m := s.Moves[next.which]
		if m.Approves {
			s.referee.Approve()
		}
		s.referee.Person(func() { m.Do(s.now) })
	}
}

// name is what a person calls a step, before it happens.
func (s *state) name(next step) string {
	switch next.kind {
	case pass:
		text := "the controller looks"
		if next.behind != (behind{}) {
			text += fmt.Sprintf(", its caches behind (%s)", next.behind)
		}
		if next.crash > 0 {
			text += fmt.Sprintf(", and its process ends after %d writes", next.crash)
		}
		return text
	case resync:
		return "the ReplicaSet controller looks at " + s.now.Syncable()[next.which]
	case start:
		return "a pod of " + s.now.Starting()[next.which] + " becomes ready"
	case tell:
		return "a terminated AnalysisRun ends"
	case judge:
		return s.now.Runs()[next.which].Name + " is " + string(verdicts[next.verdict])
	case tick:
		text := s.now.Deadline().Sub(s.now.Now()).String() + " pass"
		if next.late {
			text += " before anything else happens"
		}
		return text
	case act:
		return strings.ToUpper(s.Moves[next.which].Name)
	}
	panic("no such step")
}

func (b behind) String() string {
	var parts []string
	for _, k := range []struct {
		name string
		n    uint8
	}{{"rollout", b.rollout}, {"replicasets", b.replicaSets}, {"services", b.services}, {"routes", b.routes}, {"analysisruns", b.runs}} {
		if k.n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", k.name, k.n))
		}
	}
	return strings.Join(parts, ", ")
}

// key tells states apart.
type key [16]byte

func (s *state) key(c *sim.Canon, buffer []byte) (key, []byte) {
	b := c.Append(buffer[:0], s.now)
	b = s.referee.Append(b, c)
	b = append(b, s.left.moves[:]...)
	b = append(b, s.left.all, s.left.stale, s.left.crashes, s.left.delays)
	sum := sha256.Sum256(b)
	return key(sum[:16]), b
}
