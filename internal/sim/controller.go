package sim

import (
	"maps"
	"slices"
	"time"

	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/experiment"
	"github.com/sluice-delivery/sluice/internal/plan"
)

// Controller is the loop around the engine. It looks when something it watches has changed and when its last plan asked to be
// woken, and never otherwise: a plan that forgets to ask is found out.
type Controller struct {
	// Next decides: plan.Next, or a broken version of it to see whether the tests notice.
	Next func(plan.Observed) plan.Plan
	// View is how old the next observation is; nil for not at all.
	View func() View
	// CrashAfter is after how many writes the next pass crashes; nil or a negative number is never.
	CrashAfter func() int
	// Deaf is how much later than usual the controller receives a change, as after a watch was cut off; nil for no delay.
	Deaf func() time.Duration
	// Ask is what step plugins answer; nil where there are none.
	Ask func(change.StepCall) StepReply
	// Flaws are what is wrong with the loop itself, in tests that want to know whether anybody notices.
	Flaws Flaws
	// OnPlan is called for each reconcile before its plan is applied, OnPass afterwards.
	OnPlan, OnPass func(Pass)

	world     *World
	due, wake time.Time
	// refusals of the API server to change pods, as far as this process knows of them.
	refusals map[string]change.Refusal
	// routeRefusals are those to release objects of traffic routers.
	routeRefusals map[string]change.Refusal
	plugins       stepPlugins
}

// Pass is one round of the controller.
type Pass struct {
	Observed plan.Observed
	Plan     plan.Plan
	Outcome
	// Asked is what step plugins were asked behind it.
	Asked []change.StepCall
	// Stale: the view was older than the world.
	Stale bool
	// Unseen is of how many of the world's losses the view did not tell, UnseenEvictions of how many evictions.
	Unseen, UnseenEvictions int
	// LeadLost: another process has taken the lead since this was decided; only in tier two.
	LeadLost bool
}

// Loop is what is in charge of a World's Rollout: a [Controller], or the real one (package shell).
type Loop interface {
	// Notify reports that something has changed.
	Notify()
	// Due is when it acts next by itself, zero if it will not, and Act does what is due.
	Due() time.Time
	Act()
	// Nudge wakes it for nothing, as an event does that comes twice.
	Nudge()
}

// measurer is a Loop that may also measure, possibly without end.
type measurer interface {
	Loop
	DueBesidesMeasuring() time.Time
	// Measures reports whether AnalysisRuns are looked after.
	Measures() bool
}

// Control puts a controller in charge of the world's Rollout.
func (w *World) Control(c *Controller) {
	c.world = w
	w.Charge(c)
}

// Charge puts a loop in charge of the world's Rollout.
func (w *World) Charge(l Loop) {
	w.loop = l
	l.Notify()
}

// Loop is what is in charge.
func (w *World) Loop() Loop { return w.loop }

// Wake is when the controller reconciles next if nothing happens first.
func (c *Controller) Wake() time.Time { return c.wake }

// Notify requeues it, with the delay of its watch.
func (c *Controller) Notify() {
	c.due = earliest(c.due, c.world.now.Add(c.world.Lag()+asked(c.Deaf, 0)))
}

// Nudge wakes the controller for nothing, as an event does that comes twice.
func (c *Controller) Nudge() { c.due = earliest(c.due, c.world.now) }

// Due is when it reconciles next.
func (c *Controller) Due() time.Time {
	if c.world.Rollout() == nil {
		return time.Time{}
	}
	return earliest(earliest(c.due, c.wake), c.plugins.lands)
}

// Act observes, decides and acts, once. What it leaves undone, because of a refusal, a conflict, an old view or a crash, it does in the
// next reconcile.
func (c *Controller) Act() {
	w := c.world
	c.due, c.wake = time.Time{}, time.Time{}
	c.plugins.land(w.now)
	observed, unseen := w.observe(asked(c.View, View{}))
	if observed.Rollout == nil {
		return
	}
	observed.StepAnswers = c.plugins.landed
	observed.PodRefusals, observed.RouteRefusals = maps.Clone(c.refusals), maps.Clone(c.routeRefusals)
	pass := Pass{Observed: observed, Stale: !w.isNewest(observed), Unseen: unseen.losses, UnseenEvictions: unseen.evictions}
	crashAfter := asked(c.CrashAfter, -1)
	for again := true; again; again = heed(&observed, pass.Refused) {
		c.carryOut(&pass, &observed, crashAfter)
	}
	c.wake = pass.Plan.Wake
	if pass.Whole() {
		pass.Asked = c.plugins.carriedOut(pass.Plan.Heard, pass.Plan.Calls, w.now, c.Ask)
	} else {
		pass.Plan.Events = nil
		c.wake = time.Time{}
	}
	if !pass.Whole() || pass.Stale {
		c.Notify()
	}
	c.remember(pass)
	if pass.Crashed {
		w.restart()
	}
	if c.OnPass != nil {
		c.OnPass(pass)
	}
}

// heed adds to what was observed that an object is refused, and reports whether the engine decides what that means.
func heed(o *plan.Observed, refused *experiment.CreateFailure) bool {
	switch {
	case refused == nil, refused.Kind == experiment.ReplicaSet && o.CreateFailure != nil:
		return false
	case refused.Kind == experiment.ReplicaSet:
		o.CreateFailure = &refused.CreateFailure
	case refused.Kind == experiment.AnalysisRun:
		o.RunFailures = append(o.RunFailures, refused.CreateFailure)
	default:
		o.ExperimentFailures = append(o.ExperimentFailures, refused.CreateFailure)
	}
	return true
}

// remember keeps what the API server said about pods that it did not change, and requeues when it says so for the first time.
func (c *Controller) remember(pass Pass) {
	if pass.Crashed {
		c.refusals, c.routeRefusals, c.plugins = nil, nil, stepPlugins{}
		return
	}
	if len(pass.RouteRefusals) > 0 {
		if c.routeRefusals == nil {
			c.routeRefusals = map[string]change.Refusal{}
		}
		maps.Copy(c.routeRefusals, pass.RouteRefusals)
	}
	for _, made := range pass.Plan.Label {
		if update, ok := made.(change.UpdatePod); ok {
			delete(c.refusals, update.From.Name)
		}
	}
	if len(pass.PodRefusals) > 0 {
		if c.refusals == nil {
			c.refusals = map[string]change.Refusal{}
		}
		maps.Copy(c.refusals, pass.PodRefusals)
		c.Notify()
	}
}

// carryOut makes a plan and does what it says.
func (c *Controller) carryOut(pass *Pass, observed *plan.Observed, crashAfter int) {
	pass.Plan = c.decide(observed)
	pass.Observed = *observed
	if c.OnPlan != nil {
		c.OnPlan(*pass)
	}
	pass.Outcome = c.world.apply(pass.Plan, crashAfter, c.Flaws)
}

// asked is what a function says, or something else where there is none.
func asked[T any](f func() T, otherwise T) T {
	if f == nil {
		return otherwise
	}
	return f()
}

// isNewest reports whether a view shows the world as it is.
func (w *World) isNewest(o plan.Observed) bool {
	all := &w.objects
	return o.Rollout == w.Rollout() && slices.Equal(o.ReplicaSets, w.ReplicaSets()) && slices.Equal(o.Services, all.services.now) &&
		maps.Equal(o.Routes, w.Routes()) && slices.Equal(o.AnalysisRuns, ofRollout(w, all.runs.now)) && slices.Equal(o.Experiments, all.experiments.now)
}
