package explore

import (
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim"
)

// Engine decides; plan.Next does, or a broken version of it.
type Engine func(plan.Observed) plan.Plan

// Fault is what is wrong with a history.
type Fault struct {
	Seed uint64
	Rule string
	Text string
	At   time.Duration
	// Log is what happened, as far as it was asked for.
	Log []string
}

func (f *Fault) Error() string {
	return fmt.Sprintf("seed %d: %s: at %s: %s\nreplay: go test ./internal/sim/explore -run TestReplay -seed %d -v", f.Seed, f.Rule, f.At, f.Text, f.Seed)
}

// history is one history being played.
type history struct {
	*rand.Rand
	seed  uint64
	world *sim.World
	rules rules
	fault *Fault
	log   func(format string, args ...any)

	// disorder is how much of it there is: chances in a thousand.
	stale, crash int
	calm         bool
}

// enough is more passes than any history needs.
const enough = 3000

// Play plays the history of a seed and returns what is wrong with it, nil if nothing is. log, if there is one, is told of all that
// happens.
func Play(seed uint64, engine Engine, log func(format string, args ...any)) *Fault {
	h := &history{Rand: rand.New(rand.NewPCG(seed, 7)), seed: seed, log: log}
	if log == nil {
		h.log = func(string, ...any) {}
	}
	h.build(engine)
	h.play()
	if h.fault == nil {
		h.end()
	}
	return h.fault
}

func (h *history) build(engine Engine) {
	slowest := []time.Duration{0, 20 * time.Millisecond, 300 * time.Millisecond, 3 * time.Second}[h.IntN(4)]
	h.world = sim.New(sim.Options{
		PodStart:  time.Duration(1+h.IntN(15)) * time.Second,
		Rand:      h.Rand,
		RoundTrip: h.seed%16 == 0,
		Lag: func() time.Duration {
			if slowest == 0 {
				return 0
			}
			return time.Duration(h.Int64N(int64(slowest)))
		},
	})
	h.stale, h.crash = []int{0, 100, 400}[h.IntN(3)], []int{0, 50, 300}[h.IntN(3)]
	h.rules = rules{history: h, world: h.world, told: map[string]bool{}}
	h.world.Watch = h.rules.watch
	h.world.Create(h.rollout())
	h.world.Control(&sim.Controller{Next: plan.Next, View: h.view, CrashAfter: h.crashAfter, OnPass: h.rules.pass})
	h.world.Controller().Next = engine
	h.log("%s", describe(h.world.Rollout()))
}

// rollout is where a history starts.
func (h *history) rollout() *v1alpha1.Rollout {
	ro := sim.NewRollout("web", "v1", int32(h.IntN(8)))
	h.configure(ro)
	return ro
}

// configure sets everything of a spec that there is to set, but replicas and image.
func (h *history) configure(ro *v1alpha1.Rollout) {
	s := &ro.Spec
	c := s.Strategy.Canary
	c.Steps = h.steps()
	h.limits(c)
	s.MinReadySeconds = []int32{0, 0, 3, 20}[h.IntN(4)]
	deadline := []int32{30, 60, 600}[h.IntN(3)]
	s.ProgressDeadlineSeconds = &deadline
	s.ProgressDeadlineAbort = h.IntN(3) == 0
	keep := int32(h.IntN(4))
	s.RevisionHistoryLimit = &keep
	c.ReplicaProgressThreshold = nil
	if h.IntN(6) == 0 {
		c.ReplicaProgressThreshold = &v1alpha1.ReplicaProgressThreshold{Type: v1alpha1.ProgressThresholdPercent, Value: int32(50 + h.IntN(51))}
	}
}

func (h *history) limits(c *v1alpha1.CanaryStrategy) {
	choices := []string{"0", "1", "2", "25%", "50%", "100%"}
	surge, unavailable := h.IntN(6), h.IntN(6)
	if surge == 0 && unavailable == 0 {
		surge = 1
	}
	a, b := intstr.Parse(choices[surge]), intstr.Parse(choices[unavailable])
	c.MaxSurge, c.MaxUnavailable = &a, &b
}

func (h *history) steps() []v1alpha1.CanaryStep {
	var steps []v1alpha1.CanaryStep
	weight := int32(0)
	for range h.IntN(6) {
		if h.IntN(2) == 0 {
			weight = min(100, max(0, weight+int32(h.IntN(60))-10))
			w := weight
			steps = append(steps, v1alpha1.CanaryStep{SetWeight: &w})
			continue
		}
		pause := &v1alpha1.RolloutPause{}
		if h.IntN(3) > 0 {
			d := intstr.FromInt32(int32(h.IntN(90)))
			pause.Duration = &d
		}
		steps = append(steps, v1alpha1.CanaryStep{Pause: pause})
	}
	return steps
}

func (h *history) view() sim.View {
	if h.calm || h.IntN(1000) >= h.stale {
		return sim.View{}
	}
	return sim.View{Rollout: h.IntN(4), ReplicaSets: h.IntN(6)}
}

func (h *history) crashAfter() int {
	if h.calm || h.IntN(1000) >= h.crash {
		return -1
	}
	return h.IntN(4)
}

// play lets people and fate do things, some close together, some far apart.
func (h *history) play() {
	h.run(time.Duration(h.IntN(40)) * time.Second)
	for range 4 + h.IntN(14) {
		if h.fault != nil {
			return
		}
		h.disturb()
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
	for h.fault == nil && h.world.Step(until) {
	}
	if h.fault == nil {
		h.world.Run(until)
		h.rules.rest()
	}
}

// settle lets everything happen that will by itself.
func (h *history) settle() {
	until := h.world.Now().Add(2 * time.Hour)
	for h.fault == nil && h.rules.passes < enough && h.world.Step(until) {
	}
	if h.fault == nil && !h.world.Due().IsZero() {
		h.fail("convergence", "things still happen after two hours, or %d passes: %s", h.rules.passes, summary(h.world))
	}
	h.rules.rest()
}

// end puts an end to all disorder and sees that the rollout comes to its end too, in bounded time, and then does nothing more.
func (h *history) end() {
	h.calm = true
	h.log("%s calm", h.world.Elapsed())
	h.mend()
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
}

func (h *history) done() bool { return h.world.Rollout().Status.Phase == v1alpha1.RolloutPhaseHealthy }

// goOn is what a person does about a rollout that waits for one.
func (h *history) goOn() {
	switch s := h.world.Rollout().Status; {
	case s.Abort:
		h.log("%s retry", h.world.Elapsed())
		h.user(h.world.Retry)
	case s.Phase == v1alpha1.RolloutPhasePaused:
		h.log("%s promote", h.world.Elapsed())
		h.user(h.world.Promote)
	default:
		h.fail("convergence", "it is at rest and not healthy: %s", summary(h.world))
	}
}

func (h *history) fail(rule, format string, args ...any) {
	if h.fault != nil {
		return
	}
	h.fault = &Fault{Seed: h.seed, Rule: rule, Text: fmt.Sprintf(format, args...), At: h.world.Elapsed()}
	h.log("%s FAULT %s: %s", h.world.Elapsed(), rule, h.fault.Text)
}
