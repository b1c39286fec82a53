package sim

import (
	"time"

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
	// OnPass is told of each pass.
	OnPass func(Pass)

	world     *World
	due, wake time.Time
}

// Pass is one round of the controller.
type Pass struct {
	Observed plan.Observed
	Plan     plan.Plan
	Outcome
	// Stale: the view was older than the world.
	Stale bool
	// Unseen is how many of the world's losses the view did not tell of.
	Unseen int
}

// Control puts a controller in charge of the world's Rollout.
func (w *World) Control(c *Controller) {
	c.world, w.controller = w, c
	c.wakeUp()
}

// Controller is what is in charge.
func (w *World) Controller() *Controller { return w.controller }

// Wake is when the controller looks again if nothing happens first.
func (c *Controller) Wake() time.Time { return c.wake }

func (c *Controller) wakeUp() { c.due = earliest(c.due, c.world.now.Add(c.world.Lag())) }

func (c *Controller) dueAt() time.Time {
	if c.world.rollout == nil {
		return time.Time{}
	}
	return earliest(c.due, c.wake)
}

// pass observes, decides and acts, once. What it leaves undone, because something was refused, had changed, was seen too old
// or because it crashed, it does when it looks again.
func (c *Controller) pass() {
	w := c.world
	c.due, c.wake = time.Time{}, time.Time{}
	observed, unseen := w.observe(c.view())
	if observed.Rollout == nil {
		return
	}
	pass := Pass{Observed: observed, Stale: !w.isNewest(observed), Unseen: unseen}
	crashAfter := -1
	if c.CrashAfter != nil {
		crashAfter = c.CrashAfter()
	}
	pass.Plan = c.decide(&observed)
	pass.Outcome = w.Apply(pass.Plan, crashAfter)
	if failure := pass.CreateFailure; failure != nil {
		observed.CreateFailure = failure
		pass.Plan = c.decide(&observed)
		pass.Observed = observed
		pass.Outcome = w.Apply(pass.Plan, crashAfter)
	}
	for pass.RunFailure != nil {
		observed.RunFailures = append(observed.RunFailures, *pass.RunFailure)
		pass.Plan = c.decide(&observed)
		pass.Observed = observed
		pass.Outcome = w.Apply(pass.Plan, crashAfter)
	}
	c.wake = pass.Plan.Wake
	if !pass.Whole() {
		pass.Plan.Events = nil
		c.wake = time.Time{}
	}
	if !pass.Whole() || pass.Stale {
		c.wakeUp()
	}
	if c.OnPass != nil {
		c.OnPass(pass)
	}
}

func (c *Controller) view() View {
	if c.View == nil {
		return View{}
	}
	return c.View()
}

// isNewest reports whether a view shows the world as it is.
func (w *World) isNewest(o plan.Observed) bool {
	sets := ofRollout(w, w.sets)
	if o.Rollout != w.rollout || len(o.ReplicaSets) != len(sets) || !w.sawAllRuns(o) || !w.sawAllServices(o) {
		return false
	}
	for i, s := range sets {
		if o.ReplicaSets[i] != s.ReplicaSet {
			return false
		}
	}
	return true
}
