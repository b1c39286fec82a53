package sim

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/experiment"
)

// ExperimentController is the loop around experiment.Next. It looks when something it watches has changed and when its last plan asked
// to be woken, and never otherwise.
type ExperimentController struct {
	// Next decides: experiment.Next, or a broken version of it; nil for the former.
	Next func(experiment.Observed) experiment.Plan
	// View is how old the next observation is, CrashAfter after how many writes the next pass crashes; nil for not at all.
	View       func() View
	CrashAfter func() int
	// OnPlan is called for each reconcile before its plan is applied, OnPass afterwards; both may be nil.
	OnPlan, OnPass func(ExperimentPass)

	world  *World
	agenda agenda
	// told is what the watches have reported of each Experiment.
	told map[string]string
}

// ExperimentPass is one round of the controller.
type ExperimentPass struct {
	Observed experiment.Observed
	Plan     experiment.Plan
	Outcome
}

// ControlExperiments puts a controller in charge of the world's Experiments.
func (w *World) ControlExperiments(c *ExperimentController) {
	c.world, c.agenda = w, newAgenda()
	if c.Next == nil {
		c.Next = experiment.Next
	}
	w.experimentLoop = c
	c.begin()
}

// begin is what a controller does first: it looks at everything.
func (c *ExperimentController) begin() {
	if c != nil {
		c.told = map[string]string{}
		c.hear()
	}
}

// hear arranges a look at each Experiment that there is news of.
func (c *ExperimentController) hear() {
	if c == nil {
		return
	}
	for _, ex := range c.world.Experiments() {
		if news := c.world.newsOf(ex); news != c.told[ex.Name] {
			c.told[ex.Name] = news
			c.agenda.look(ex.Name, c.world.now.Add(c.world.Lag()))
		}
	}
}

// dueAt is when an Experiment is to be looked at, and which.
func (c *ExperimentController) dueAt() (at time.Time, name string) {
	if c == nil {
		return time.Time{}, ""
	}
	return soonest(c.agenda, c.world.Experiments())
}

// pass looks at the Experiment that is due, if one is by now, and reports whether one was.
func (c *ExperimentController) pass() bool {
	at, name := c.dueAt()
	if name == "" || at.After(c.world.now) {
		return false
	}
	c.agenda.take(name)
	view := asked(c.View, View{})
	observed, ok := c.world.observeExperiment(name, view)
	if !ok {
		c.agenda.look(name, c.world.now.Add(c.world.Lag())) // the watch will show it yet
		return true
	}
	pass := ExperimentPass{Observed: observed}
	crashAfter := asked(c.CrashAfter, -1)
	for {
		pass.Plan = c.Next(pass.Observed)
		if pass.Plan.NeedsRollout {
			pass.Observed.Rollout, pass.Observed.RolloutRead = c.world.Rollout(), true
			continue
		}
		if c.OnPlan != nil {
			c.OnPlan(pass)
		}
		pass.Outcome = c.world.applyExperiment(pass.Plan, crashAfter)
		if pass.Refused == nil {
			break
		}
		pass.Observed.CreateFailures = append(pass.Observed.CreateFailures, *pass.Refused)
	}
	if pass.Conflict || pass.Crashed {
		pass.Plan.Events = nil
	} else if !pass.Plan.Wake.IsZero() {
		c.agenda.wake[name] = pass.Plan.Wake
	}
	if pass.Conflict || pass.Crashed || view != (View{}) {
		c.agenda.due[name] = c.world.now.Add(c.world.Lag())
	}
	if pass.Crashed {
		c.world.restart()
	}
	if c.OnPass != nil {
		c.OnPass(pass)
	}
	return true
}

// Empty reports whether the world contains nothing that a controller manages.
func (w *World) Empty() bool { return w.Rollout() == nil && len(w.Experiments()) == 0 }

// CreateExperiment adds an Experiment to the world.
func (w *World) CreateExperiment(ex *v1alpha1.Experiment) {
	w.objects.experiments.create(w, ex.DeepCopy())
}

// EditExperiment changes an Experiment, its status included: there is no subresource.
func (w *World) EditExperiment(name string, change func(*v1alpha1.Experiment)) {
	if ex := w.Experiment(name).DeepCopy(); ex != nil {
		change(ex)
		w.objects.experiments.replace(w, ex, false)
	}
}

// Experiment is an Experiment as it is now, not to be modified; nil if there is none of that name.
func (w *World) Experiment(name string) *v1alpha1.Experiment {
	return w.objects.experiments.named(name)
}

// Experiments are all of them as they are now, in the order of their creation, not to be modified.
func (w *World) Experiments() []*v1alpha1.Experiment { return w.objects.experiments.now }

// RefuseExperiments has the API server reject new Experiments with a message.
func (w *World) RefuseExperiments(message string) {
	w.objects.experiments.refused, w.objects.experiments.taken = message, nil
}

// TakeExperiment gives someone else the name of an Experiment.
func (w *World) TakeExperiment(name string) {
	w.RefuseExperiments("")
	w.objects.experiments.take(name)
}

// AllowExperiments ends what RefuseExperiments and TakeExperiment began.
func (w *World) AllowExperiments() {
	w.RefuseExperiments("")
	w.notify()
}

// DeleteExperiment removes an Experiment, and what it owns with it.
func (w *World) DeleteExperiment(name string) {
	if ex := w.Experiment(name); ex != nil {
		w.objects.experiments.delete(w, ex)
	}
}

// observeExperiment is what the controller sees of an Experiment, if it sees it.
func (w *World) observeExperiment(name string, v View) (experiment.Observed, bool) {
	all := w.objects.experiments.past.see(v.Experiments).all
	i := slices.IndexFunc(all, func(ex *v1alpha1.Experiment) bool { return ex.Name == name })
	if i < 0 {
		return experiment.Observed{}, false
	}
	ex, everything := all[i], w.Observe(v)
	return experiment.Observed{
		Now: w.now, Experiment: ex, Templates: everything.Templates, Services: everything.Services,
		ReplicaSets:  controlledBy(ex, w.objects.replicaSets.past.seen().all),
		AnalysisRuns: controlledBy(ex, w.objects.runs.past.seen().all),
	}, true
}

func controlledBy[T metav1.Object](owner metav1.Object, objects []T) (all []T) {
	for _, o := range objects {
		if metav1.IsControlledBy(o, owner) {
			all = append(all, o)
		}
	}
	return all
}

// ofRollout leaves out what is an Experiment's or nobody's, and so none of the Rollout's.
func ofRollout[T metav1.Object](w *World, objects []T) []T {
	if len(w.Experiments()) == 0 && !w.orphaned {
		return objects
	}
	return slices.DeleteFunc(slices.Clone(objects), func(obj T) bool { return OfExperiment(obj) || w.orphaned && ofNobody(obj) })
}

// ofExperiments are those of the objects that are an Experiment's.
func ofExperiments[T metav1.Object](objects []T) []T {
	return slices.DeleteFunc(slices.Clone(objects), func(obj T) bool { return !OfExperiment(obj) })
}

// OfExperiment reports whether an Experiment controls an object.
func OfExperiment(obj metav1.Object) bool {
	owner := metav1.GetControllerOfNoCopy(obj)
	return owner != nil && owner.Kind == v1alpha1.KindExperiment
}
