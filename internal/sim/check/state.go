package check

import (
	"crypto/sha256"
	"slices"

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

// kind is what kind of thing happens.
type kind uint8

const (
	pass   kind = iota // the controller looks, decides and acts
	resync             // the ReplicaSet controller looks at a ReplicaSet
	start              // a pod becomes ready
	tell               // an AnalysisRun that was terminated ends
	judge              // an AnalysisRun comes to a verdict
	end                // an Experiment comes to an outcome
	tick               // nothing happens until the next deadline
	act                // a user acts, or something breaks
)

// step is one thing that happens.
type step struct {
	kind kind
	// which ReplicaSet, AnalysisRun, Experiment or move, by its place.
	which uint8
	// verdict is the place of the verdict that an AnalysisRun or Experiment comes to.
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
	for _, line := range w.Lines {
		do(s.now, line)
	}
	s.referee.Control(&sim.Controller{Next: engine})
	if !w.Fresh {
		s.settle()
	}
	s.left = w.budget()
	return s
}

// mostSteps are more than any world takes to begin.
const mostSteps = 10000

// settle lets things happen until nothing more will by itself, or a rule is broken.
func (s *state) settle() {
	until := s.now.Now().Add(Horizon)
	for n := 0; s.referee.Fault() == nil && s.now.Step(until); n++ {
		if n == mostSteps {
			s.referee.Fail("live", "the world does not settle before anything has happened to it")
		}
	}
}

// fork is the same state, to go on from in another way.
func (s *state) fork() *state {
	lag := s.Lag
	if s.left.stale == 0 {
		lag = 0 // and nobody will see anything old
	}
	next := &state{World: s.World, now: s.now.Fork(lag), left: s.left}
	next.referee = s.referee.Fork(next.now)
	return next
}

// stepsOf are the steps of a class. Those of passes that end in the middle depend on how much whole ones write.
func (s *state) stepsOf(c class, links [number][]link) []step {
	if s.now.Rollout() == nil {
		return nil
	}
	switch c {
	case own:
		return s.own()
	case moved:
		return s.moves()
	case late:
		if at := s.now.Deadline(); !at.IsZero() && len(s.own()) > 0 && s.own()[0].kind != tick {
			return []step{{kind: tick, late: true}}
		}
	case crashed:
		return crashes(links[own])
	case lagged, laggedEnd:
		return s.stale()
	case laggedCrashed:
		return crashes(links[lagged])
	case laggedEndCrashed:
		return crashes(links[laggedEnd])
	case number:
	}
	return nil
}

// own are the steps that happen by themselves.
func (s *state) own() (all []step) {
	if s.passes() {
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
			all = append(all, verdictsOf(judge, i)...)
		}
	}
	for i, ex := range s.now.Experiments() {
		if !analysis.Ended(ex.Status.Phase) {
			all = append(all, verdictsOf(end, i)...)
		}
	}
	if len(all) == 0 && !s.now.Deadline().IsZero() {
		all = append(all, step{kind: tick})
	}
	return all
}

// passes reports whether the controller looks now.
func (s *state) passes() bool {
	due := s.now.Loop().Due()
	return !due.IsZero() && !due.After(s.now.Now())
}

func verdictsOf(k kind, which int) (all []step) {
	for v := range verdicts {
		all = append(all, step{kind: k, which: uint8(which), verdict: uint8(v)})
	}
	return all
}

// moves are the moves that make a difference now.
func (s *state) moves() (all []step) {
	for i, m := range s.Moves {
		if m.Can == nil || m.Can(s.now) {
			all = append(all, step{kind: act, which: uint8(i)})
		}
	}
	return all
}

// stale are the passes that see old objects.
func (s *state) stale() (all []step) {
	if !s.passes() {
		return nil
	}
	for _, v := range s.views() {
		if v != (behind{}) {
			all = append(all, step{kind: pass, behind: v})
		}
	}
	return all
}

// crashes are the ways in which whole passes may end in the middle.
func crashes(whole []link) (all []step) {
	for _, l := range whole {
		for n := uint8(1); n < l.writes && l.what.kind == pass; n++ {
			all = append(all, step{kind: pass, behind: l.what.behind, crash: n})
		}
	}
	return all
}

// can reports whether a step may happen now.
func (s *state) can(what step) bool {
	if _, ok := s.left.after(what); !ok {
		return false
	}
	whole := what
	whole.crash = 0
	return slices.Contains(slices.Concat(s.own(), s.moves(), s.stepsOf(late, [number][]link{}), s.stale()), whole)
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
	s.left, _ = s.left.after(next)
	switch next.kind {
	case pass:
		loop := s.now.Loop().(*sim.Controller)
		loop.View, loop.CrashAfter = nil, nil
		if next.behind != (behind{}) {
			loop.View = func() sim.View { return next.behind.view() }
		}
		if next.crash > 0 {
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
	case end:
		s.now.JudgeExperiment(s.now.Experiments()[next.which], verdicts[next.verdict])
	case tick:
		s.now.Jump(s.now.Deadline().Sub(s.now.Now()))
	case act:
		m := s.Moves[next.which]
		if m.Approves {
			s.referee.Approve()
		}
		s.referee.Person(func() { do(s.now, m.Line) })
	}
}

// key tells places apart.
type key [16]byte

func (s *state) key(c *sim.Canon, buffer []byte) (key, []byte) {
	b := c.Append(buffer[:0], s.now)
	b = s.referee.Append(b, c)
	if s.left.stale > 0 {
		b = append(b, 1)
	}
	sum := sha256.Sum256(b)
	return key(sum[:16]), b
}
