package sim

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis/measure"
	"github.com/sluice-delivery/sluice/internal/metric"
)

// AnalysisController is the loop around measure.Next, and the providers that it asks.
type AnalysisController struct {
	// Next decides: measure.Next, or a broken version of it; nil for the former.
	Next func(measure.Observed) measure.Plan
	// Providers are the names of those that there are.
	Providers []string
	// Measure is what comes of a measurement that begins now.
	Measure func(measure.Task) Measurement
	// Arguments are those of a run that are elsewhere; nil where there are none.
	Arguments func(*v1alpha1.AnalysisRun) measure.Arguments
	// View is how old the next observation is, CrashAfter after how many writes the next pass crashes; nil for not at all.
	View       func() View
	CrashAfter func() int
	// OnPass is called for each reconcile; may be nil.
	OnPass func(AnalysisPass)

	world   *World
	agenda  agenda
	flights []flight
	landed  []measure.Result
}

// Measurement is what comes of a measurement.
type Measurement struct {
	metric.Reading
	// Err is why there is no reading, empty if there is one.
	Err string
	// Takes is how long it takes.
	Takes time.Duration
}

// AnalysisPass is one round of the controller.
type AnalysisPass struct {
	Observed measure.Observed
	Plan     measure.Plan
	Outcome
}

// flight is a measurement that is under way.
type flight struct {
	result measure.Result
	lands  time.Time
}

// Analyse puts a controller in charge of the world's AnalysisRuns. Without one scripts say how they go.
func (w *World) Analyse(c *AnalysisController) {
	c.world, c.agenda = w, newAgenda()
	if c.Next == nil {
		c.Next = measure.Next
	}
	w.analysisLoop = c
	c.begin()
}

// begin is what a controller does first: it looks at everything, and knows of nothing that was under way.
func (c *AnalysisController) begin() {
	if c == nil {
		return
	}
	c.flights, c.landed = nil, nil
	for _, run := range c.world.Runs() {
		c.look(run.Name)
	}
}

// look has a run looked at soon.
func (c *AnalysisController) look(name string) {
	if c != nil {
		c.agenda.look(name, c.world.now.Add(c.world.Lag()))
	}
}

// dueAt is when a measurement lands, or a run is looked at.
func (c *AnalysisController) dueAt() time.Time {
	if c == nil {
		return time.Time{}
	}
	at, _ := soonest(c.agenda, c.world.Runs())
	for _, f := range c.flights {
		at = earliest(at, f.lands)
	}
	return at
}

// act lets a measurement land, or looks at a run, and reports whether one was due.
func (c *AnalysisController) act() bool {
	if c == nil {
		return false
	}
	now := c.world.now
	if i := slices.IndexFunc(c.flights, func(f flight) bool { return !f.lands.After(now) }); i >= 0 {
		landed := c.flights[i].result
		landed.FinishedAt = now
		landed = measure.Judge(context.Background(), landed)
		c.flights = slices.Delete(c.flights, i, i+1)
		c.landed = append(c.landed, landed)
		c.agenda.look(landed.Run.Name, now)
		return true
	}
	at, name := soonest(c.agenda, c.world.Runs())
	if name == "" || at.After(now) {
		return false
	}
	c.agenda.take(name)
	c.pass(name)
	return true
}

func (c *AnalysisController) pass(name string) {
	w := c.world
	view := asked(c.View, View{})
	seen := w.objects.runs.past.see(view.AnalysisRuns).all
	i := slices.IndexFunc(seen, func(run *v1alpha1.AnalysisRun) bool { return run.Name == name })
	if i < 0 {
		c.look(name) // the watch will show it yet
		return
	}
	run := seen[i]
	crashAfter := asked(c.CrashAfter, -1)
	pass := AnalysisPass{Observed: measure.Observed{Now: w.now, Run: run, Providers: c.Providers}}
	pass.Observed.Results, pass.Observed.Busy = c.of(run.UID)
	pass.Plan = c.Next(pass.Observed)
	if pass.Plan.NeedsArguments {
		pass.Observed.Arguments = &measure.Arguments{}
		if c.Arguments != nil {
			*pass.Observed.Arguments = c.Arguments(run)
		}
		pass.Plan = c.Next(pass.Observed)
	}
	pass.Outcome = w.applyAnalysis(c, pass.Plan, run, crashAfter)
	if pass.Whole() && !pass.Plan.Wake.IsZero() {
		c.agenda.wake[name] = pass.Plan.Wake
	}
	if !pass.Whole() {
		pass.Plan.Events = nil
	}
	if !pass.Whole() || view != (View{}) {
		c.look(name)
	}
	if pass.Crashed {
		w.restart()
	}
	if c.OnPass != nil {
		c.OnPass(pass)
	}
}

// restart is what becomes of all that is only remembered when the controller stops: it is gone.
func (w *World) restart() {
	w.analysisLoop.begin()
	w.experimentLoop.begin()
}

// of are the results of a run that are in no status yet, and the metrics that are being measured.
func (c *AnalysisController) of(run types.UID) (results []measure.Result, busy []string) {
	for _, r := range c.landed {
		if r.Run.UID == run {
			results = append(results, r)
		}
	}
	for _, f := range c.flights {
		if f.result.Run.UID == run {
			busy = append(busy, f.result.Metric.Name)
		}
	}
	return results, busy
}

// takeOff begins a measurement.
func (c *AnalysisController) takeOff(task measure.Task) {
	m := c.Measure(task)
	c.flights = append(c.flights, flight{
		result: measure.Result{Task: task, StartedAt: c.world.now, Reading: m.Reading, Err: m.Err},
		lands:  c.world.now.Add(m.Takes),
	})
}

// cancel ends measurements that nobody waits for.
func (c *AnalysisController) cancel(run types.UID, metrics []string) {
	for i := range c.flights {
		if f := &c.flights[i]; f.result.Run.UID == run && slices.Contains(metrics, f.result.Metric.Name) {
			f.result.Canceled, f.lands = true, c.world.now
		}
	}
}

// forget drops the results that a status has now.
func (c *AnalysisController) forget(run types.UID) {
	c.landed = slices.DeleteFunc(c.landed, func(r measure.Result) bool { return r.Run.UID == run })
}
