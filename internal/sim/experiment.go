package sim

import (
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/experiment"
)

// experiments are the Experiments of a world, and the loop around the engine that decides about them.
type experiments struct {
	all  []*v1alpha1.Experiment // in the order of their creation; replaced as a whole, never changed
	past past[[]*v1alpha1.Experiment]
	// taken is the name of an Experiment that belongs to somebody else, refused is why the API server takes no new ones.
	taken, refused string

	controller *ExperimentController
}

// ExperimentController is the loop around experiment.Next. It looks when something it watches has changed and when its last plan asked
// to be woken, and never otherwise.
type ExperimentController struct {
	// Next decides: experiment.Next, or a broken version of it; nil for the former.
	Next func(experiment.Observed) experiment.Plan
	// View is how old the next observation is, CrashAfter after how many writes the next pass crashes; nil for not at all.
	View       func() View
	CrashAfter func() int
	// OnPlan is told of each pass before its plan is carried out, OnPass afterwards; both may be nil.
	OnPlan, OnPass func(ExperimentPass)

	world  *World
	agenda agenda
	// told is what the watches have told of each Experiment.
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
	w.experiments.controller = c
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
	for _, ex := range c.world.experiments.all {
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
	names := make([]string, len(c.world.experiments.all))
	for i, ex := range c.world.experiments.all {
		names[i] = ex.Name
	}
	return c.agenda.next(names)
}

// pass looks at the Experiment that is due, if one is by now, and reports whether one was.
func (c *ExperimentController) pass() bool {
	at, name := c.dueAt()
	if name == "" || at.After(c.world.now) {
		return false
	}
	c.agenda.take(name)
	view := View{}
	if c.View != nil {
		view = c.View()
	}
	observed, ok := c.world.observeExperiment(name, view)
	if !ok {
		c.agenda.look(name, c.world.now.Add(c.world.Lag())) // the watch will show it yet
		return true
	}
	pass := ExperimentPass{Observed: observed}
	crashAfter := -1
	if c.CrashAfter != nil {
		crashAfter = c.CrashAfter()
	}
	for {
		pass.Plan = c.Next(pass.Observed)
		if pass.Plan.NeedsRollout {
			pass.Observed.Rollout, pass.Observed.RolloutRead = c.world.rollout, true
			continue
		}
		if c.OnPlan != nil {
			c.OnPlan(pass)
		}
		pass.Outcome = c.world.applyExperiment(pass.Plan, crashAfter)
		failure, failed := pass.failure()
		if !failed {
			break
		}
		pass.Observed.CreateFailures = append(pass.Observed.CreateFailures, failure)
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

func (p ExperimentPass) failure() (experiment.CreateFailure, bool) {
	for kind, failure := range map[experiment.Kind]*change.CreateFailure{ // there is one at most
		experiment.ReplicaSet: p.CreateFailure, experiment.Service: p.ServiceFailure, experiment.AnalysisRun: p.RunFailure,
	} {
		if failure != nil {
			return experiment.CreateFailure{Kind: kind, CreateFailure: *failure}, true
		}
	}
	return experiment.CreateFailure{}, false
}

// Empty reports whether there is nothing in the world that a controller looks after.
func (w *World) Empty() bool { return w.rollout == nil && len(w.experiments.all) == 0 }

// CreateExperiment adds an Experiment to the world.
func (w *World) CreateExperiment(ex *v1alpha1.Experiment) {
	ex = throughWire(ex)
	w.uid++
	ex.UID = types.UID(name("uid", w.uid))
	ex.CreationTimestamp = w.time()
	w.putExperiment(ex)
}

// throughWire is an Experiment as an API server hands it back.
func throughWire(ex *v1alpha1.Experiment) *v1alpha1.Experiment {
	text, err := json.Marshal(ex)
	if err != nil {
		panic(err)
	}
	out := &v1alpha1.Experiment{}
	if err := json.Unmarshal(text, out); err != nil {
		panic(err)
	}
	return out
}

// EditExperiment changes an Experiment, its status included: there is no subresource.
func (w *World) EditExperiment(name string, change func(*v1alpha1.Experiment)) {
	if ex := w.Experiment(name).DeepCopy(); ex != nil {
		change(ex)
		w.putExperiment(ex)
	}
}

// Experiment is an Experiment as it is now, not to be modified; nil if there is none of that name.
func (w *World) Experiment(name string) *v1alpha1.Experiment {
	return experimentNamed(w.experiments.all, name)
}

func experimentNamed(all []*v1alpha1.Experiment, name string) *v1alpha1.Experiment {
	for _, ex := range all {
		if ex.Name == name {
			return ex
		}
	}
	return nil
}

// DeleteExperiment removes an Experiment, and what it owns with it.
func (w *World) DeleteExperiment(name string) {
	gone := w.Experiment(name)
	w.putExperiments(slices.DeleteFunc(slices.Clone(w.experiments.all), func(ex *v1alpha1.Experiment) bool { return ex == gone }))
	w.deleteOwnerless()
}

// putExperiment stores a new Experiment, or the next version of one.
func (w *World) putExperiment(ex *v1alpha1.Experiment) {
	ex.ResourceVersion = w.nextVersion()
	all := slices.Clone(w.experiments.all)
	if i := slices.IndexFunc(all, func(have *v1alpha1.Experiment) bool { return have.Name == ex.Name }); i >= 0 {
		all[i] = ex
	} else {
		all = append(all, ex)
	}
	w.putExperiments(all)
}

func (w *World) putExperiments(all []*v1alpha1.Experiment) {
	w.experiments.all = all
	w.experiments.past.add(all)
	w.notify()
}

// observeExperiment is what the controller sees of an Experiment, if it sees it.
func (w *World) observeExperiment(name string, v View) (experiment.Observed, bool) {
	ex := experimentNamed(w.experiments.past.see(v.Experiments), name)
	if ex == nil {
		return experiment.Observed{}, false
	}
	everything := w.Observe(v)
	o := experiment.Observed{Now: w.now, Experiment: ex, Templates: everything.Templates}
	for _, rs := range w.past.sets.seen().sets {
		if metav1.IsControlledBy(rs, ex) {
			o.ReplicaSets = append(o.ReplicaSets, rs)
		}
	}
	o.Services = everything.Services
	for _, run := range w.analyses.past.seen() {
		if metav1.IsControlledBy(run, ex) {
			o.AnalysisRuns = append(o.AnalysisRuns, run)
		}
	}
	return o, true
}

// ofRollout leaves out what is an Experiment's or nobody's, and so none of the Rollout's.
func ofRollout[T metav1.Object](w *World, objects []T) []T {
	if len(w.experiments.all) == 0 && !w.orphaned {
		return objects
	}
	return slices.DeleteFunc(slices.Clone(objects), func(obj T) bool { return ofExperiment(obj) || w.orphaned && ofNobody(obj) })
}

// ofExperiments are those of the objects that are an Experiment's.
func ofExperiments[T metav1.Object](objects []T) []T {
	return slices.DeleteFunc(slices.Clone(objects), func(obj T) bool { return !ofExperiment(obj) })
}

func ofExperiment(obj metav1.Object) bool {
	owner := metav1.GetControllerOfNoCopy(obj)
	return owner != nil && owner.Kind == v1alpha1.KindExperiment
}

func (a *application) terminateExperiment(from, to *v1alpha1.Experiment) {
	if a.may() && a.isCurrent(from) {
		next := *from
		next.Spec = *to.Spec.DeepCopy()
		a.putExperiment(&next)
		a.own(&a.experiments.past.unseen)
	}
}

func (a *application) deleteExperiment(ex *v1alpha1.Experiment) {
	if a.may() && a.isCurrent(ex) {
		a.DeleteExperiment(ex.Name)
		a.own(&a.experiments.past.unseen)
	}
}

func (a *application) makeExperiment(ex *v1alpha1.Experiment) {
	if !a.may() {
		return
	}
	switch {
	case a.experiments.refused != "":
		a.Writes--
		a.ExperimentFailure = &change.CreateFailure{Name: ex.Name, Message: a.experiments.refused}
	case a.experiments.taken == ex.Name:
		a.Writes--
		a.ExperimentFailure = &change.CreateFailure{Name: ex.Name, Taken: true}
	case a.Experiment(ex.Name) != nil: // made by a pass with an older view
		a.Writes--
		a.Conflict = true
	default:
		a.CreateExperiment(ex)
		a.own(&a.experiments.past.unseen)
	}
}

// isCurrent reports whether an Experiment is still what it was.
func (a *application) isCurrent(ex *v1alpha1.Experiment) bool {
	have := a.Experiment(ex.Name)
	if have == nil || have.ResourceVersion != ex.ResourceVersion {
		a.Writes--
		a.Conflict = true
		return false
	}
	return true
}

// applyExperiment carries out a plan, as [World.Apply] does.
func (w *World) applyExperiment(p experiment.Plan, stopAfter int) Outcome {
	a := application{World: w, left: stopAfter}
	for _, changes := range p.Changes() {
		a.changes(changes)
	}
	if p.Record != nil {
		a.done(func() { a.recordExperiment(*p.Record) })
	}
	return a.Outcome
}

func (a *application) recordExperiment(r experiment.Record) {
	if !a.may() {
		return
	}
	have := a.Experiment(r.From.Name)
	if have == nil || have.ResourceVersion != r.From.ResourceVersion {
		a.Writes--
		a.Conflict = true
		return
	}
	if equality.Semantic.DeepEqual(r.From.Status, r.To.Status) {
		a.Idle = "record of " + r.From.Name + " that changes nothing"
	}
	next := *have
	next.Status = *r.To.Status.DeepCopy()
	a.putExperiment(&next)
	a.own(&a.experiments.past.unseen)
}

func (a *application) createService(s *corev1.Service) {
	if !a.may() {
		return
	}
	have := a.Service(s.Name)
	switch {
	case have != nil && sameOwner(have, s): // made by a pass with an older view
		a.Writes--
		a.Conflict = true
	case have != nil:
		a.Writes--
		a.ServiceFailure = &change.CreateFailure{Name: s.Name, Taken: true, Leaving: experiment.Leaving(have)}
	default:
		s = s.DeepCopy()
		a.uid++
		s.UID, s.ResourceVersion = types.UID(name("uid", a.uid)), a.nextVersion()
		a.putServices(append(slices.Clone(a.services), s))
		a.own(&a.past.services.unseen)
		a.expectOwner(s)
	}
}

func (a *application) deleteService(s *corev1.Service) {
	if !a.may() {
		return
	}
	have := a.Service(s.Name)
	if have != nil && have.ResourceVersion != s.ResourceVersion {
		a.Writes--
		a.Conflict = true
		return
	}
	a.DeleteService(s.Name)
	a.own(&a.past.services.unseen)
}

// Experiments are all of them as they are now, in the order of their creation, not to be modified.
func (w *World) Experiments() []*v1alpha1.Experiment { return w.experiments.all }
