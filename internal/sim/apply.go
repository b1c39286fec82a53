package sim

import (
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/experiment"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// View is how old what the controller sees is: how many versions each kind of object is behind.
type View struct {
	Rollout, ReplicaSets, Services, Routes, AnalysisRuns, Experiments int
}

// ReplicaSets are the Rollout's as they are now, not to be modified. To look at them makes no view any newer.
func (w *World) ReplicaSets() []*appsv1.ReplicaSet {
	all := make([]*appsv1.ReplicaSet, len(w.sets))
	for i, s := range w.sets {
		all[i] = s.ReplicaSet
	}
	return ofRollout(w, all)
}

// Observe is the world as the controller sees it: who calls it sees for the controller, too. A view never goes back behind what was seen before, as no watch does, nor behind
// the controller's own last write of a kind: the shell waits until its caches show it, and reads consistently when it starts.
func (w *World) Observe(v View) plan.Observed {
	o, _ := w.observe(v)
	return o
}

// observe also returns of how many losses and evictions the view does not tell yet.
func (w *World) observe(v View) (o plan.Observed, unseen reports) {
	o.Now, o.Policy = w.now, w.Policy
	if w.rollout != nil {
		o.Rollout = w.past.rollouts.see(v.Rollout)
	}
	sets := w.past.sets.see(v.ReplicaSets)
	o.ReplicaSets, o.Orphans, unseen = ofRollout(w, sets.sets), w.orphansOf(sets.sets), reports{w.Losses - sets.reported.losses, w.Evictions - sets.reported.evictions}
	o.Services = w.past.services.see(v.Services)
	o.Routes = w.routes.past.see(v.Routes)
	w.observeWorkload(&o)
	w.observeAnalyses(&o, v.AnalysisRuns)
	o.Experiments = w.experiments.past.see(v.Experiments)
	o.ExperimentSets, o.ExperimentServices = ofExperiments(sets.sets), ofExperiments(o.Services)
	return o, unseen
}

// Outcome is what came of a plan.
type Outcome struct {
	// Writes is how many writes were done.
	Writes int
	// Conflict: an object had changed, and the pass stopped there.
	Conflict bool
	// Crashed: the controller stopped before it was done.
	Crashed bool
	// CreateFailure is why a ReplicaSet could not be created. The plan must be made anew with it.
	CreateFailure *change.CreateFailure
	// RunFailure is why an AnalysisRun could not be created. The plan must be made anew with it.
	RunFailure *change.CreateFailure
	// ExperimentFailure is why an Experiment could not be created. The plan must be made anew with it.
	ExperimentFailure *change.CreateFailure
	// ServiceFailure is why a Service could not be created. The plan must be made anew with it.
	ServiceFailure *change.CreateFailure
	// PodRefusals are why pods could not be changed, by their names. The next observation has them.
	PodRefusals map[string]change.Refusal
	// RouteRefusals are why objects of traffic routers could not be released, by their keys. The next observation has them.
	RouteRefusals map[string]change.Refusal
	// Idle tells of a write that would have changed nothing, which a plan must not ask for.
	Idle string
	// Garbled tells of a write that led to something else than what was decided; in tier two alone.
	Garbled string
}

// Whole reports whether all of the plan was done.
func (o Outcome) Whole() bool {
	return !o.Conflict && !o.Crashed && o.CreateFailure == nil && o.RunFailure == nil && o.ServiceFailure == nil && o.ExperimentFailure == nil
}

// Apply carries out a plan in its order, each write guarded by the version that it was decided on. After stopAfter writes the
// controller crashes; a negative number is never.
func (w *World) Apply(p plan.Plan, stopAfter int) Outcome {
	return w.apply(p, stopAfter, Flaws{})
}

func (w *World) apply(p plan.Plan, stopAfter int, flaws Flaws) Outcome {
	a := application{World: w, left: stopAfter, flaws: flaws}
	for _, group := range flaws.order(p) {
		group(&a)
	}
	return a.Outcome
}

// application is a plan being carried out.
type application struct {
	*World
	Outcome
	left  int
	flaws Flaws
}

// wrote tells of a write that was done, for rules to be held against.
func (a *application) wrote() {
	if a.Wrote != nil {
		a.Wrote()
	}
}

// changed reports whether an object is another than the one that was decided on.
func (a *application) changed(have, from string) bool { return have != from && !a.flaws.Unguarded }

// own notes that the newest version of a kind is the controller's, which no view goes back behind.
func (a *application) own(unseen *int) {
	if !a.flaws.ForgetsOwnWrites {
		*unseen = 0
	}
}

// may reports whether the next write may be done, and counts it.
func (a *application) may() bool {
	if !a.Whole() {
		return false
	}
	if a.left == 0 {
		a.Crashed = true
		return false
	}
	a.left--
	a.Writes++
	return true
}

// done does what may be a write, and tells of it if it is one.
func (a *application) done(write func()) {
	before := a.Writes
	write()
	if a.Writes > before {
		a.wrote()
	}
}

func (a *application) changes(changes []change.Change) {
	for _, c := range changes {
		a.done(func() { a.change(c) })
	}
}

func (a *application) change(c change.Change) {
	switch c := c.(type) {
	case change.CreateReplicaSet:
		a.create(c.ReplicaSet)
	case change.UpdateReplicaSet:
		a.update(c.From, c.To)
	case change.DeleteReplicaSet:
		a.delete(c.ReplicaSet)
	case change.CreateExperiment:
		a.makeExperiment(c.Experiment)
	case change.TerminateExperiment:
		a.terminateExperiment(c.From, c.To)
	case change.DeleteExperiment:
		a.deleteExperiment(c.Experiment)
	case change.CreateService:
		a.createService(c.Service)
	case change.DeleteService:
		a.deleteService(c.Service)
	case change.UpdateService:
		a.updateService(c.From, c.To)
	case change.WriteRoute:
		a.writeRoute(c)
	case change.UpdatePod:
		a.updatePod(c.From, c.To)
	case change.EvictPod:
		a.evict(c.Pod)
	case change.ScaleWorkload:
		a.scaleWorkload(c.From, c.To)
	case change.CreateAnalysisRun:
		a.createRun(c.Run)
	case change.TerminateAnalysisRun:
		a.terminateRun(c.From, c.To)
	case change.DeleteAnalysisRun:
		a.deleteRun(c.Run)
	default:
		panic(fmt.Sprintf("change of unknown kind %T", c))
	}
}

func (a *application) create(rs *appsv1.ReplicaSet) {
	if !a.may() {
		return
	}
	have := a.set(rs.Name)
	switch {
	case a.refused != "":
		a.fail(change.CreateFailure{Name: rs.Name, Message: a.refused})
	case have != nil && !sameOwner(have, rs):
		a.fail(change.CreateFailure{Name: rs.Name, Taken: true, Leaving: experiment.Leaving(have), Message: fmt.Sprintf("replicasets.apps %q already exists", rs.Name)})
	case a.foreign[rs.Name], have != nil && !spec.SameTemplate(spec.Bare(rs), spec.Bare(have.ReplicaSet)):
		a.fail(change.CreateFailure{Name: rs.Name, Taken: true, Message: fmt.Sprintf("replicasets.apps %q already exists", rs.Name)})
	case have != nil: // made by a pass that crashed, or one with an older view: look again
		a.Writes--
		a.Conflict = true
	default:
		a.createSet(rs)
		a.own(&a.past.sets.unseen)
		a.expectOwner(rs)
	}
}

func (a *application) fail(f change.CreateFailure) {
	a.Writes--
	a.CreateFailure = &f
}

func (a *application) update(from, to *appsv1.ReplicaSet) {
	if !a.may() {
		return
	}
	have := a.set(from.Name)
	if have == nil || a.changed(have.ResourceVersion, from.ResourceVersion) {
		a.Writes--
		a.Conflict = true
		return
	}
	if equality.Semantic.DeepEqual(from.ObjectMeta, to.ObjectMeta) && equality.Semantic.DeepEqual(from.Spec, to.Spec) {
		a.Idle = "update of " + from.Name + " that changes nothing"
	}
	next := *have.ReplicaSet
	next.OwnerReferences, next.Labels, next.Annotations, next.Spec = to.OwnerReferences, to.Labels, to.Annotations, to.Spec
	a.putSet(have, &next)
	a.own(&a.past.sets.unseen)
}

func (a *application) delete(rs *appsv1.ReplicaSet) {
	if !a.may() {
		return
	}
	have := a.set(rs.Name)
	if have == nil {
		return // it is gone, which is what was wanted
	}
	if a.changed(have.ResourceVersion, rs.ResourceVersion) {
		a.Writes--
		a.Conflict = true
		return
	}
	a.deleteSet(rs.Name)
	a.own(&a.past.sets.unseen)
}

// record writes what differs: first the object's own fields, then the status.
func (a *application) record(r *plan.Record) {
	base := r.From
	object := !maps.Equal(r.From.Annotations, r.To.Annotations) || !equality.Semantic.DeepEqual(r.From.Spec.Replicas, r.To.Spec.Replicas)
	status := !equality.Semantic.DeepEqual(r.From.Status, r.To.Status)
	a.done(func() {
		if object && a.mayWrite(base) {
			next := *a.rollout
			next.Annotations, next.Spec.Replicas = r.To.Annotations, r.To.Spec.Replicas
			base = a.put(&next)
			a.own(&a.past.rollouts.unseen)
		}
	})
	a.done(func() {
		if status && a.mayWrite(base) {
			next := *a.rollout
			next.Status = r.To.Status
			a.putStatus(&next)
			a.own(&a.past.rollouts.unseen)
		}
	})
	if !object && !status {
		a.Idle = "record that changes nothing"
	}
}

// mayWrite reports whether the Rollout may be written, which it may if it is still the given one.
func (a *application) mayWrite(base *v1alpha1.Rollout) bool {
	if !a.may() {
		return false
	}
	if a.rollout == nil || a.changed(a.rollout.ResourceVersion, base.ResourceVersion) {
		a.Writes--
		a.Conflict = true
		return false
	}
	return true
}
