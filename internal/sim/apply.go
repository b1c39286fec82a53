package sim

import (
	"errors"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis/measure"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/experiment"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

// View is how old what the controller sees is: how many versions each kind of object is behind.
type View struct {
	Rollout, ReplicaSets, Services, Routes, AnalysisRuns, Experiments int
}

// ReplicaSets are the Rollout's as they are now, not to be modified. To look at them makes no view any newer.
func (w *World) ReplicaSets() []*appsv1.ReplicaSet { return ofRollout(w, w.objects.replicaSets.now) }

// Observe is the world as the controller sees it; calling it advances the controller's view. Like a watch, a view never goes back to before what
// was already seen, or to before the controller's own last write of a kind: the shell waits until its caches show that, and reads consistently
// when it starts.
func (w *World) Observe(v View) plan.Observed {
	o, _ := w.observe(v)
	return o
}

// observe also returns of how many losses and evictions the view does not tell yet.
func (w *World) observe(v View) (o plan.Observed, unseen reports) {
	all := &w.objects
	o.Now, o.Policy, o.Templates = w.now, w.Policy, w.Templates()
	if seen := all.rollouts.past.see(v.Rollout).all; len(seen) > 0 && w.Rollout() != nil { // of one that is gone there are no views
		o.Rollout = seen[0]
	}
	sets := all.replicaSets.past.see(v.ReplicaSets)
	o.ReplicaSets, o.Orphans, unseen = ofRollout(w, sets.all), w.orphansOf(sets.all), reports{w.Losses - sets.reported.losses, w.Evictions - sets.reported.evictions}
	o.Services = all.services.past.see(v.Services).all
	o.Routes = byKey(all.routes.past.see(v.Routes).all)
	if o.Rollout != nil {
		o.Policy.Selected = routers.Select(routers.Selections(o.Rollout), maps.Values(o.Routes))
	}
	w.observeWorkload(&o)
	o.AnalysisRuns = ofRollout(w, all.runs.past.see(v.AnalysisRuns).all)
	o.Experiments = all.experiments.past.see(v.Experiments).all
	o.ExperimentSets, o.ExperimentServices = ofExperiments(sets.all), ofExperiments(o.Services)
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
	// Refused is an object that could not be created. The next plan must take it into account.
	Refused *experiment.CreateFailure
	// PodRefusals are why pods could not be changed, by their names. The next observation has them.
	PodRefusals map[string]change.Refusal
	// RouteRefusals are why objects of traffic routers could not be released, by their keys. The next observation has them.
	RouteRefusals map[string]change.Refusal
	// Idle describes a write that would have changed nothing; a plan must not ask for one.
	Idle string
	// Garbled describes a write whose result differs from what was decided; only in tier two.
	Garbled string
}

// Whole reports whether all of the plan was done.
func (o Outcome) Whole() bool {
	return !o.Conflict && !o.Crashed && o.Refused == nil
}

// Apply carries out a plan in its order, each write guarded by the version that it was decided on. After stopAfter writes the
// controller crashes; a negative number is never.
func (w *World) Apply(p plan.Plan, stopAfter int) Outcome {
	return w.apply(p, stopAfter, Flaws{})
}

func (w *World) apply(p plan.Plan, stopAfter int, flaws Flaws) Outcome {
	a := application{Server: w.Server(), left: stopAfter, flaws: flaws}
	for _, group := range flaws.order(p) {
		group(&a)
	}
	return a.Outcome
}

// applyExperiment carries out a plan, as [World.Apply] does.
func (w *World) applyExperiment(p experiment.Plan, stopAfter int) Outcome {
	a := application{Server: w.Server(), left: stopAfter}
	for _, changes := range p.Changes() {
		a.changes(changes)
	}
	if p.Record != nil {
		a.update(p.Record.From, p.Record.To, true)
	}
	return a.Outcome
}

// applyAnalysis carries out a plan, as [World.Apply] does.
func (w *World) applyAnalysis(c *AnalysisController, p measure.Plan, run *v1alpha1.AnalysisRun, stopAfter int) Outcome {
	a := application{Server: w.Server(), left: stopAfter}
	c.cancel(run.UID, p.Cancel)
	if p.Record != nil {
		a.update(p.Record.From, p.Record.To, true)
	}
	if !a.Whole() {
		return a.Outcome
	}
	c.forget(run.UID)
	for _, task := range p.Measure {
		c.takeOff(task)
	}
	if p.Delete != "" {
		if have := a.FindRun(run.Name); p.Record != nil && have != nil {
			run = have // as it was just written
		}
		a.remove(run)
	}
	return a.Outcome
}

// application is a plan being carried out by a client of the API server.
type application struct {
	Server
	Outcome
	left  int
	flaws Flaws
}

// errOver is what becomes of a write of a pass that is over.
var errOver = errors.New("the pass is over")

// write does one write, unless the pass is over or the controller stops before it, and notes what came of it. Views never go back behind one
// that was done.
func (a *application) write(kind schema.GroupKind, do func() error) error {
	switch {
	case !a.Whole():
		return errOver
	case a.left == 0:
		a.Crashed = true
		return errOver
	}
	a.left--
	err := do()
	switch {
	case err == nil:
		a.Writes++
		if kind.Kind != "Pod" && !a.flaws.ForgetsOwnWrites {
			a.objects.of(kind).own()
		}
	case apierrors.IsConflict(err), apierrors.IsNotFound(err), apierrors.IsAlreadyExists(err):
		a.Conflict = true
	}
	return err
}

func (a *application) changes(changes []change.Change) {
	for _, c := range changes {
		a.change(c)
	}
}

func (a *application) change(c change.Change) {
	switch c := c.(type) {
	case change.CreateReplicaSet:
		a.create(c.ReplicaSet)
	case change.UpdateReplicaSet:
		a.update(c.From, c.To, false)
	case change.DeleteReplicaSet:
		a.remove(c.ReplicaSet)
	case change.CreateExperiment:
		a.create(c.Experiment)
	case change.TerminateExperiment:
		a.update(c.From, c.To, false)
	case change.DeleteExperiment:
		a.remove(c.Experiment)
	case change.CreateService:
		a.create(c.Service)
	case change.UpdateService:
		a.update(c.From, c.To, false)
	case change.DeleteService:
		a.remove(c.Service)
	case change.CreateAnalysisRun:
		a.create(c.Run)
	case change.TerminateAnalysisRun:
		a.update(c.From, c.To, false)
	case change.DeleteAnalysisRun:
		a.remove(c.Run)
	case change.WriteRoute:
		a.writeRoute(c)
	case change.UpdatePod:
		a.updatePod(c)
	case change.EvictPod:
		a.evictPod(c.Pod)
	case change.ScaleWorkload:
		a.scaleWorkload(c)
	default:
		panic(fmt.Sprintf("change of unknown kind %T", c))
	}
}

func (a *application) post(want Object) error {
	_, err := a.Create(want.DeepCopyObject().(Object))
	return err
}

// create creates an object under its name. It is refused if the API server rejects it or the name is taken. If an earlier reconcile created
// the object, the next one finds out.
func (a *application) create(want Object) {
	kind, key := kindOf(want), KeyOf(want)
	err := a.write(kind, func() error { return a.post(want) })
	refusal := change.CreateFailure{Name: key.Name}
	switch {
	case apierrors.IsForbidden(err):
	case apierrors.IsAlreadyExists(err):
		have := a.Get(kind, key)
		if sameOwner(have, want) && sameTemplate(have, want) {
			return
		}
		a.Conflict, refusal.Taken, refusal.Leaving = false, true, experiment.Leaving(have)
	default:
		return
	}
	refusal.Message = err.Error()
	a.Refused = &experiment.CreateFailure{Kind: experiment.Kind(kind.Kind), CreateFailure: refusal}
}

// sameOwner reports whether what is there under a name belongs to whom a controller wanted to create it for.
func sameOwner(have, want Object) bool {
	a, b := metav1.GetControllerOfNoCopy(have), metav1.GetControllerOfNoCopy(want)
	return a != nil && b != nil && a.UID == b.UID
}

// sameTemplate reports whether objects, if they are ReplicaSets, are of the same pods.
func sameTemplate(have, want Object) bool {
	a, ok := have.(*appsv1.ReplicaSet)
	b, alsoOK := want.(*appsv1.ReplicaSet)
	return !ok || !alsoOK || spec.SameTemplate(spec.Bare(b), spec.Bare(a))
}

// update writes what differs between two versions of an object, of its status or of all else.
func (a *application) update(from, to Object, status bool) {
	kind := kindOf(from)
	_ = a.write(kind, func() error {
		to = to.DeepCopyObject().(Object)
		to.SetResourceVersion(a.guard(from))
		_, changed, err := a.Update(to, status)
		if err == nil && !changed {
			a.Idle = fmt.Sprintf("update of %s %s that changes nothing", kind.Kind, to.GetName())
		}
		return err
	})
}

// guard is the version that an object must have to be written, empty for any.
func (a *application) guard(from Object) string {
	if a.flaws.Unguarded {
		return ""
	}
	return from.GetResourceVersion()
}

// preconditions are those of writes that end an object.
func (a *application) preconditions(o Object) *metav1.Preconditions {
	if a.flaws.Unguarded {
		return nil
	}
	return &metav1.Preconditions{UID: new(o.GetUID()), ResourceVersion: new(o.GetResourceVersion())}
}

// remove deletes an object. That it is gone is what was wanted.
func (a *application) remove(o Object) {
	kind := kindOf(o)
	_ = a.write(kind, func() error { return unlessGone(a.Delete(kind, KeyOf(o), a.preconditions(o))) })
}

func unlessGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// writeRoute creates, changes or deletes an object of a traffic router. That one cannot be released is remembered.
func (a *application) writeRoute(c change.WriteRoute) {
	switch {
	case c.Release && a.releasesRefused != "":
		if err := a.write(kindOf(c.From), func() error { return forbidden(a.releasesRefused) }); apierrors.IsForbidden(err) {
			a.Conflict = true
			a.RouteRefusals = map[string]change.Refusal{routers.FormatKey(traffic.KeyOf(c.From)): {Message: err.Error(), At: a.now}}
		}
	case c.From == nil:
		_ = a.write(kindOf(c.To), func() error { return a.post(c.To) })
	case c.To == nil:
		a.remove(c.From)
	default:
		a.update(c.From, c.To, false)
	}
}

// updatePod changes a pod's labels and annotations. One that is gone needs nothing any more, and that one is refused holds nothing up.
func (a *application) updatePod(c change.UpdatePod) {
	err := a.write(schema.GroupKind{Kind: "Pod"}, func() error {
		_, changed, err := a.Update(c.To.DeepCopy(), false)
		if err == nil && !changed {
			a.Idle = "update of pod " + c.From.Name + " that changes nothing"
		}
		return unlessGone(err)
	})
	if apierrors.IsForbidden(err) {
		if a.PodRefusals == nil {
			a.PodRefusals = map[string]change.Refusal{}
		}
		a.PodRefusals[c.From.Name] = change.Refusal{Message: err.Error(), At: a.now}
	}
}

// evictPod evicts a pod, if the budget allows. If not that is no failure: a later pass asks again.
func (a *application) evictPod(pod *corev1.Pod) {
	_ = a.write(schema.GroupKind{Kind: "Pod"}, func() error { return unlessGone(a.Evict(KeyOf(pod), a.preconditions(pod))) })
}

// scaleWorkload changes the Deployment's size.
func (a *application) scaleWorkload(c change.ScaleWorkload) {
	_ = a.write(kindOf(c.From), func() error {
		_, err := a.Scale(KeyOf(c.From), a.guard(c.From), *c.To.Spec.Replicas)
		return err
	})
	if *c.From.Spec.Replicas == *c.To.Spec.Replicas {
		a.Idle = "scaling of the Deployment that changes nothing"
	}
}

// record writes what differs: first the object's own fields, then the status.
func (a *application) record(r *plan.Record) {
	from := r.From
	object := !maps.Equal(r.From.Annotations, r.To.Annotations) || !equality.Semantic.DeepEqual(r.From.Spec.Replicas, r.To.Spec.Replicas)
	status := !equality.Semantic.DeepEqual(r.From.Status, r.To.Status)
	if object && a.Rollout() != nil {
		to := *a.Rollout() // no more than what differs is written
		to.Annotations, to.Spec.Replicas = r.To.Annotations, r.To.Spec.Replicas
		a.update(from, &to, false)
		from = a.Rollout()
	}
	if status && a.Whole() {
		a.update(from, &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: from.Namespace, Name: from.Name}, Status: r.To.Status}, true)
	}
	if !object && !status {
		a.Idle = "record that changes nothing"
	}
}
