package shell

import (
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-delivery/sluice/internal/controller"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/telemetry"
)

// Options are what a shell is played with.
type Options struct {
	World *sim.World
	// Rand makes the choices that the weather leaves open.
	Rand *rand.Rand
	// Engine decides; plan.Next, or a broken version of it.
	Engine func(plan.Observed) plan.Plan
	// Break puts a fault into the shell, in tests that want to know whether anybody notices; nil for none.
	Break func(*Parts)
	// OnPlan is told of each pass before its plan is carried out, OnWrite before each of its writes, OnPass when it is over. A pass whose
	// writes are put off is not told of.
	OnPlan, OnWrite, OnPass func(sim.Pass)
	// Meanwhile does something from outside, between what a pass decided and its next write; nil for nothing.
	Meanwhile func()
	// Weather is how it begins.
	Weather Weather
}

// Parts are what a process is made of, for those who want to break something.
type Parts struct {
	controller.Parts
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
	// leader is the process that works, nil while there is none; then one is started at a time.
	leader  *process
	startAt time.Time
}

// Control puts the shell in charge of a world's Rollout.
func Control(o Options) *Shell {
	s := &Shell{Options: o, server: o.World.Server(), changes: map[kind]*changes{}}
	for _, k := range kinds {
		s.changes[k] = &changes{kind: k}
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

// Due is when something happens next: a watch tells of something, a pass is due, a process starts.
func (s *Shell) Due() time.Time {
	if s.leader == nil {
		return s.startAt
	}
	return s.leader.due()
}

// Act does what is due.
func (s *Shell) Act() {
	if s.leader == nil {
		s.start(false)
		return
	}
	if s.leader.tell() || s.leader.working {
		return
	}
	if s.happens(s.Weather.HandOver) {
		s.start(s.Weather.Standby)
		return
	}
	s.leader.work()
}

// Nudge has the Rollout looked at, as an event does that comes twice.
func (s *Shell) Nudge() {
	if s.leader != nil {
		s.leader.queue.Add(request(s.World.Rollout()))
	}
}

// start begins a process. One that was a standby has followed its watches for long: what it knows may be older than when it takes over.
// Another one lists everything first, and that is not older than when it asked.
func (s *Shell) start(standby bool) {
	s.leader, s.startAt = nil, time.Time{}
	s.leader = newProcess(s, standby)
}

// crashed ends the process that leads.
func (s *Shell) crashed() {
	s.leader, s.startAt = nil, s.World.Now().Add(s.World.Lag())
	if s.happens(300) {
		s.startAt = s.startAt.Add(s.upTo(longestDown))
	}
}

// silent hears of what is done and tells nobody.
var silent = sync.OnceValues(func() (*slog.Logger, *telemetry.Meters) {
	return slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError + 1})), telemetry.New(prometheus.NewRegistry(), false)
})
