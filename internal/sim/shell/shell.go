package shell

import (
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-delivery/sluice/internal/analysis/measure"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/controller"
	"github.com/sluice-delivery/sluice/internal/experiment"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/telemetry"
)

// Options are what a shell is played with.
type Options struct {
	World *sim.World
	// AllRouters: the cluster knows the kinds of all traffic routers, if it is Routed.
	AllRouters bool
	// Routed: the cluster knows the kinds of traffic routers.
	Routed bool
	// Fate makes the choices that the weather leaves open.
	Fate Fate
	// Engine decides; plan.Next, or a broken version of it.
	Engine func(plan.Observed) plan.Plan
	// Break puts a fault into the shell, in tests that want to know whether anybody notices; nil for none.
	Break func(*Parts)
	// OnPlan is called for each reconcile before its plan is applied, OnWrite before each of its writes, OnPass when it is over. A reconcile
	// whose writes are postponed is left out. These callbacks, and those below for reconciles, measurements and events, cover the World's own
	// namespace only.
	OnPlan, OnWrite, OnPass func(sim.Pass)
	// Measure answers for a provider. With it Experiments and AnalysisRuns are looked after, too, by their own reconcilers; nil where there
	// are no Experiments, and AnalysisRuns end by [sim.Options.Verdict].
	Measure func(metric.Request) sim.Measurement
	// Experiment and Judge decide about Experiments and AnalysisRuns; nil for the engines as they are.
	Experiment func(experiment.Observed) experiment.Plan
	Judge      func(measure.Observed) measure.Plan
	// OnExperimentPlan, OnExperimentPass and OnAnalysisPass are called for reconciles of Experiments and AnalysisRuns, OnStart for each process
	// that takes over.
	OnExperimentPlan, OnExperimentPass func(sim.ExperimentPass)
	OnAnalysisPass                     func(sim.AnalysisPass)
	OnStart                            func()
	// OnTold is called for each event that a reconciler records, and OnEvent for each one that is published, with whether it arrived. Both need
	// Measure: without it events are not published.
	OnTold  func(Notice)
	OnEvent func(e *corev1.Event, arrived bool)
	// OnReach is called for each write of a reconcile in any namespace, except for events; OnSpent with what each reconcile has spent. A reconcile
	// that spends more than Limit is reported first, and then ends like one that crashes. A zero limit means none.
	OnReach func(Reach)
	OnSpent func(key types.NamespacedName, spent Spent)
	Limit   Spent
	// Meanwhile does something from outside, between what a pass decided and its next write; nil for nothing.
	Meanwhile func()
	// AskStep answers for step plugins; nil where there are none.
	AskStep func(change.StepCall) sim.StepReply
	// Weather is how it begins.
	Weather Weather
}

// Parts are the dependencies of a process, for tests that break one of them.
type Parts struct {
	controller.Deps
	// Watches are the kinds that it watches from the beginning.
	Watches func(all []controller.Watch) []controller.Watch
	// Asks changes what a pass asks for: when to look again, or behind an error as the queue does.
	Asks func(reconcile.Result, error) (reconcile.Result, error)
}

// Shell is the controller, in a process after the other.
type Shell struct {
	Options

	server  sim.Server
	changes map[kind]*changes
	// mapper knows the kinds that the World has.
	mapper meta.RESTMapper
	// leader is the process that works, nil while there is none; then one is started at a time.
	leader  *process
	startAt time.Time
}

// Control puts the shell in charge of a world's Rollout.
func Control(o Options) *Shell {
	s := &Shell{Options: o, server: o.World.Server(), changes: map[kind]*changes{}, mapper: routeless}
	if o.Routed {
		if s.mapper = routed; o.AllRouters {
			s.mapper = routedByAll
		}
	}
	for _, k := range kinds {
		s.changes[k] = &changes{kind: k}
	}
	for _, hear := range []*func(sim.Pass){&s.OnPlan, &s.OnWrite, &s.OnPass} {
		if *hear == nil {
			*hear = func(sim.Pass) {}
		}
	}
	if s.OnReach == nil {
		s.OnReach = func(Reach) {}
	}
	if s.OnSpent == nil {
		s.OnSpent = func(types.NamespacedName, Spent) {}
	}
	o.World.Charge(s)
	s.start(false)
	return s
}

// Notify notes what has changed, for the watches to tell of.
func (s *Shell) Notify() {
	for _, k := range kinds {
		s.changes[k].note(s.server)
	}
	if s.leader != nil {
		s.leader.hear()
	}
}

// Due is when something happens next: a watch delivers something, a reconcile is due, a process starts.
func (s *Shell) Due() time.Time {
	if s.leader == nil {
		return s.startAt
	}
	return s.leader.due()
}

// DueBesidesMeasuring is when something happens next other than that a metric is measured.
func (s *Shell) DueBesidesMeasuring() time.Time {
	if s.leader == nil {
		return s.startAt
	}
	return s.leader.dueBesidesMeasuring()
}

// Measures reports whether AnalysisRuns are looked after.
func (s *Shell) Measures() bool { return s.Measure != nil }

// Act does what is due.
func (s *Shell) Act() {
	if s.leader == nil {
		s.start(false)
		return
	}
	if s.leader.tell() || s.leader.working || s.leader.goOff() || s.leader.run() {
		return
	}
	if s.Fate.Happens("takes over", s.Weather.HandOver) && s.World.Now().Sub(s.leader.began) >= shortestLead {
		s.start(s.Weather.Standby)
		return
	}
	s.leader.makePass()
}

// Nudge has the Rollout looked at, as an event does that comes twice.
func (s *Shell) Nudge() {
	if s.leader != nil {
		s.leader.rollouts.queue.Add(request(s.World.Rollout()))
	}
}

// start begins a process. One that was a standby has followed its watches for long: what it knows may be older than when it takes over.
// Another one lists everything first, and that is not older than when it asked.
func (s *Shell) start(standby bool) {
	s.Stop()
	s.leader, s.startAt = nil, time.Time{}
	if s.OnStart != nil {
		s.OnStart()
	}
	s.leader = newProcess(s, standby)
}

// Stop ends what the process that leads has under way.
func (s *Shell) Stop() {
	if s.leader != nil {
		s.leader.end()
	}
}

// crashed ends the process that leads.
func (s *Shell) crashed() {
	s.Stop()
	s.leader, s.startAt = nil, s.World.Now().Add(s.World.Lag())
	if s.Fate.Happens("down", 300) {
		s.startAt = s.startAt.Add(s.Fate.UpTo("down for", longestDown))
	}
}

// silent discards logs and metrics.
var silent = sync.OnceValues(func() (*slog.Logger, *telemetry.Meters) {
	return slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError + 1})), telemetry.New(prometheus.NewRegistry(), false)
})
