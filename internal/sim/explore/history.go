package explore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis/measure"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/experiment"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/sim/shell"
)

// Engine decides; plan.Next does, or a broken version of it.
type Engine func(plan.Observed) plan.Plan

// Subject is what is tried: an engine, and the loop around it.
type Subject struct {
	Engine Engine
	// Honest: its plans are held to what they say, too (plans.go). Most broken engines are not honest: a wrapper changes what is done, and not what is
	// told.
	Honest bool
	// Shell are the flaws of tier one's loop, Break is what breaks the shell of tier two.
	Shell sim.Flaws
	Break func(*shell.Parts)
	// Experiment and Measure decide about Experiments and AnalysisRuns; nil for the engines as they are.
	Experiment func(experiment.Observed) experiment.Plan
	Measure    func(measure.Observed) measure.Plan
}

// Real is the engine as it is, in a loop without flaws.
var Real = Subject{Engine: plan.Next, Honest: true}

// history is one history being played.
type history struct {
	// Rand makes the choices of the current move, chaos those of the world. Both are seeded again for each move, so that leaving one out
	// changes little of what follows.
	*rand.Rand
	chaos   *rand.Rand
	sources [2]*rand.PCG

	Trial
	engine Engine
	world  *people
	// fate makes the choices of the world.
	fate *fate
	// until is until when time was to pass last, doing the name of what is being done.
	until time.Duration
	// ran: time was to pass since the last move.
	ran   bool
	doing string
	// between: something happens in the middle of a pass.
	between bool
	// busy is how many things happened in this instant.
	busy int
	at   time.Time
	// interrupts are how many moves of a recording have come in the middle of a pass.
	interrupts int
	// shell is what is in charge in tier two.
	shell *shell.Shell
	rules rules
	// plugins are those of its steps.
	plugins stepPlugins
	// tenant is who attacks, nil where nobody does.
	tenant *tenant
	fault  *Fault
	log    func(format string, args ...any)
	// telling: the log is used.
	telling bool

	// disorder is how much of it there is: chances in a thousand.
	stale, crash, deaf int
	slowest            time.Duration
	calm               bool
}

// enough is more passes than any history needs.
const enough = 4000

// Play plays a history and returns what is wrong with it, nil if nothing is. log, if not nil, receives everything that happens.
func Play(t Trial, s Subject, log func(format string, args ...any)) *Fault {
	return play(t, s, log, nil)
}

// play also records the history, if it is given what to write into.
func play(t Trial, s Subject, log func(format string, args ...any), record *recording) *Fault {
	if t.replay == nil {
		t.AllRouters = t.Routed && t.Shell && t.Seed%8 == 5
	}
	h := &history{Trial: t, engine: s.Engine, log: log, telling: log != nil}
	for i, r := range []**rand.Rand{&h.Rand, &h.chaos} {
		h.sources[i] = rand.NewPCG(0, 0)
		*r = rand.New(h.sources[i])
	}
	h.fate = &fate{
		dice: shell.Dice{Rand: h.chaos}, record: record, replay: t.replay,
		now: func() time.Duration { return h.world.Elapsed() }, calm: func() bool { return h.calm },
	}
	if log == nil {
		h.log = func(string, ...any) {}
	}
	if t.Experiments {
		return newLaboratory(h, s).play()
	}
	h.build(s)
	h.proceed()
	if h.fault == nil {
		h.end()
	}
	return h.fault
}

// sow begins the random numbers of a chapter of the history. The source wants seeds that look random themselves: from small ones that
// follow each other it makes beginnings that are all alike.
func (h *history) sow(chapter uint64) {
	h.sources[0].Seed(scatter(h.Seed), scatter(chapter))
	h.sources[1].Seed(scatter(h.Seed), scatter(chapter+1<<32))
}

// scatter is the step of SplitMix64.
func scatter(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// stir decides how much disorder there is.
func (h *history) stir() {
	h.slowest = []time.Duration{0, 20 * time.Millisecond, 300 * time.Millisecond, 3 * time.Second}[h.IntN(4)]
	h.stale, h.crash = []int{0, 300, 700}[h.IntN(3)], []int{0, 50, 300}[h.IntN(3)]
	h.deaf = []int{0, 0, 0, 50}[h.IntN(4)]
	for _, what := range h.Without {
		switch what {
		case Staleness:
			h.stale = 0
		case Crashes:
			h.crash = 0
		case Delays:
			h.slowest, h.deaf = 0, 0
		case Timeouts: // the loop of tier one has none
		}
	}
}

func (h *history) build(s Subject) {
	h.sow(0)
	h.stir()
	o := sim.Options{PodStart: time.Duration(1+h.IntN(15)) * time.Second, RoundTrip: h.Seed%16 == 0, Lag: h.lag, Verdict: h.verdict}
	if h.Late {
		o.EndpointLag = endpointLag
	}
	h.create(o)
	h.plugins.said = map[change.StepKey][]sim.StepReply{}
	h.rules = rules{history: h, world: h.world.World, told: map[string]bool{}, honest: s.Honest}
	h.rules.weights = weights{left: map[string]departure{}}
	h.rules.switches = switches{served: map[string]bool{}, left: map[string]departure{}, approved: map[string]bool{}}
	h.world.Watch, h.world.Wrote = h.rules.watch, h.rules.wrote
	h.begin(func() {
		h.furnish()
		h.world.Create(h.rollout())
	})
	h.control(s)
	h.rules.after()
	h.describe("BEGINS")
}

// control puts the subject in charge.
func (h *history) control(s Subject) {
	if h.Shell {
		o := shell.Options{
			World: h.world.World, Routed: h.Routed, AllRouters: h.AllRouters, Fate: h.fate, Engine: s.Engine, Break: s.Break, Weather: h.weather(),
			OnPlan: h.rules.plan, OnWrite: h.rules.write, OnPass: h.rules.pass, Meanwhile: h.meanwhile, AskStep: h.askPlugin,
		}
		h.attend(&o)
		h.shell = shell.Control(o)
		return
	}
	h.world.Control(&sim.Controller{
		Next: s.Engine, Flaws: s.Shell, View: h.view, CrashAfter: h.crashAfter, Deaf: h.deafness, OnPlan: h.rules.plan, OnPass: h.rules.pass, Ask: h.askPlugin,
	})
}

// describe tells what is asked of the controller now.
func (h *history) describe(what string) {
	if h.telling {
		h.log("%s %s: %s", h.world.Elapsed(), what, describe(h.world.World))
	}
}

func (h *history) lag() time.Duration {
	return h.fate.time("lag", func() time.Duration {
		if h.slowest == 0 {
			return 0
		}
		return time.Duration(h.chaos.Int64N(int64(h.slowest)))
	})
}

// view is how old what the controller sees is. Each kind of object has a watch of its own, and may be late alone.
func (h *history) view() sim.View { return h.fate.view("view", h.anyView) }

func (h *history) anyView() sim.View {
	if h.calm || h.chaos.IntN(1000) >= h.stale {
		return sim.View{}
	}
	v := sim.View{Rollout: h.chaos.IntN(4), ReplicaSets: h.chaos.IntN(6), Services: h.chaos.IntN(6), AnalysisRuns: h.chaos.IntN(4)}
	if h.Routed {
		v.Routes = h.chaos.IntN(6)
		if h.chaos.IntN(6) == 0 {
			return sim.View{Routes: v.Routes}
		}
	}
	switch h.chaos.IntN(6) {
	case 0:
		return sim.View{Rollout: v.Rollout}
	case 1:
		return sim.View{ReplicaSets: v.ReplicaSets}
	case 2:
		return sim.View{Services: v.Services}
	case 3:
		return sim.View{AnalysisRuns: v.AnalysisRuns}
	}
	return v
}

func (h *history) crashAfter() int {
	return draw(h.fate, "crash", -1, strconv.Itoa, strconv.Atoi, func() int {
		if h.calm || h.chaos.IntN(1000) >= h.crash {
			return -1
		}
		return h.chaos.IntN(4)
	})
}

// deafness is how long a watch has been cut off.
func (h *history) deafness() time.Duration {
	return h.fate.time("deaf", func() time.Duration {
		if h.calm || h.deaf == 0 || h.chaos.IntN(1000) >= h.deaf {
			return 0
		}
		return time.Duration(h.chaos.IntN(40)) * time.Second
	})
}

// verdict is how an analysis ends: well more often than not. One in the background may never end.
func (h *history) verdict(run *v1alpha1.AnalysisRun) (v1alpha1.AnalysisPhase, time.Duration) {
	v := h.fate.verdict("verdict", func() (v verdict) {
		v.phase, v.after = h.anyVerdict(run)
		return v
	})
	return v.phase, v.after
}

func (h *history) anyVerdict(run *v1alpha1.AnalysisRun) (v1alpha1.AnalysisPhase, time.Duration) {
	after := time.Duration(h.chaos.IntN(60)) * time.Second
	if run.Labels[v1alpha1.RolloutTypeLabel] == v1alpha1.RolloutTypeBackground && h.chaos.IntN(2) == 0 {
		return v1alpha1.AnalysisPhaseRunning, 0
	}
	if h.calm {
		return v1alpha1.AnalysisPhaseSuccessful, after
	}
	switch h.chaos.IntN(10) {
	case 0:
		return v1alpha1.AnalysisPhaseFailed, after
	case 1:
		return v1alpha1.AnalysisPhaseError, after
	case 2:
		return v1alpha1.AnalysisPhaseInconclusive, after
	}
	return v1alpha1.AnalysisPhaseSuccessful, after
}

// most is how many moves a history has at most.
const most = 18

// proceed lets people and fate do things, some close together, some far apart.
func (h *history) proceed() {
	if h.replay != nil {
		h.playAgain(h.run, func(name string, do func()) {
			h.user(do)
			h.describe(name)
		})
		return
	}
	defer h.endRecording()
	h.run(time.Duration(h.IntN(40)) * time.Second)
	for i := range 4 + h.IntN(most-4) {
		h.sow(uint64(i + 1))
		if h.Moves != nil && !slices.Contains(h.Moves, i) {
			continue
		}
		if h.fault != nil {
			return
		}
		h.disturb(i)
		h.attack(uint64(i + 1))
		gap := []time.Duration{0, 50 * time.Millisecond, 2 * time.Second, 30 * time.Second, 3 * time.Minute}[h.IntN(5)]
		if gap > 0 {
			gap = time.Duration(h.Int64N(int64(gap)))
		}
		h.run(gap)
	}
}

// run lets time pass.
func (h *history) run(d time.Duration) {
	until := h.world.Now().Add(d)
	h.until, h.ran = until.Sub(sim.Start), true
	for h.fault == nil && h.world.Step(until) {
		h.goesOn()
	}
	if h.fault == nil {
		h.world.Run(until)
		h.rules.rest()
	}
}

// goesOn checks that time passes: a controller that writes whenever it sees a change, and sees its own writes immediately, never stops.
func (h *history) goesOn() {
	if now := h.world.Now(); now != h.at {
		h.at, h.busy = now, 0
	}
	if h.busy++; h.busy > 10_000 {
		h.fail("convergence", "things happen without end in one instant")
	}
}

// settle lets everything happen that will by itself.
func (h *history) settle() {
	until := h.world.Now().Add(2 * time.Hour)
	for h.fault == nil && h.rules.passes < enough && h.world.Step(until) {
		h.goesOn()
	}
	looksOnly := h.world.Now().Sub(h.rules.lastWrite) > time.Hour // as a restart does that must not continue: a retry of the update ends that
	if h.fault == nil && !h.world.Due().IsZero() && (!looksOnly || h.done()) {
		h.fail("convergence", "things still happen after two hours, or %d passes: %s", h.rules.passes, summary(h.world.World))
	}
	h.rules.rest()
}

// end puts an end to all disorder and sees that the rollout comes to its end too, in bounded time, and then does nothing more.
func (h *history) end() {
	h.calm = true
	h.clear()
	h.sow(most + 1)
	h.log("%s calm", h.world.Elapsed())
	h.pacify()
	h.repair()
	for range 20 {
		h.settle()
		if h.fault != nil || h.done() {
			break
		}
		h.goOn()
	}
	if h.fault != nil {
		return
	}
	h.rules.end()
	if h.fault != nil {
		return
	}
	passes := h.rules.passes
	h.run(24 * time.Hour)
	if h.fault == nil && h.rules.passes != passes {
		h.fail("fixpoint", "%d more passes in a day without events", h.rules.passes-passes)
	}
	h.siege(h)
}

func (h *history) again() { h.user(func() { h.setImage(h.image()) }) }

func (h *history) done() bool { return h.world.Rollout().Status.Phase == v1alpha1.RolloutPhaseHealthy }

// goOn is what a person does about a rollout that waits for one.
func (h *history) goOn() {
	switch s := h.world.Rollout().Status; {
	case s.Abort:
		h.rules.abortEnds()
		h.rules.woundUp()
		if roomier.MatchString(s.Message) {
			h.makeRoom()
		}
		h.log("%s retry", h.world.Elapsed())
		h.user(h.world.Retry)
	case s.Phase == v1alpha1.RolloutPhasePaused:
		h.log("%s promote", h.world.Elapsed())
		h.approve()
		h.user(h.world.Promote)
	case h.cramped():
		h.makeRoom()
	default:
		h.fail("convergence", "it is at rest and not healthy: %s", summary(h.world.World))
	}
}

// approve notes that a person is content with the version that is being updated to.
func (h *history) approve() { h.world.Approve() }

func (h *history) fail(rule, format string, args ...any) {
	if h.fault != nil {
		return
	}
	h.fault = &Fault{Trial: h.Trial, Rule: rule, Text: fmt.Sprintf(format, args...), At: h.world.Elapsed()}
	h.log("%s FAULT %s: %s", h.world.Elapsed(), rule, h.fault.Text)
}
