package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	runtimecontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/experiment"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/telemetry"
)

// ExperimentReconciler carries out what the engine decides about ExperimentReconciler.
type ExperimentReconciler struct {
	writer
	events record.EventRecorder
	engine func(experiment.Observed) experiment.Plan
}

// NewExperimentReconciler returns the reconciler of Experiments.
func NewExperimentReconciler(p Deps) *ExperimentReconciler {
	e := &ExperimentReconciler{writer: newWriter("experiment", p), events: p.Events, engine: p.Experiment}
	if e.engine == nil {
		e.engine = experiment.Next
	}
	return e
}

// startExperiments adds the controller of Experiments to the manager.
func startExperiments(mgr manager.Manager, p Deps, clusterTemplates bool, o Options) error {
	e := NewExperimentReconciler(p)
	queue, err := watchQueue(mgr, "experiment", o.workers(o.ExperimentThreads))
	if err != nil {
		return err
	}
	build := ctrl.NewControllerManagedBy(mgr).
		Named("experiment").
		For(&v1alpha1.Experiment{}).
		WithOptions(runtimecontroller.Options{MaxConcurrentReconciles: o.ExperimentThreads, NewQueue: queue.Make})
	for _, w := range e.Watches(clusterTemplates) {
		build = build.Watches(w.Object, w.Handler, builder.WithPredicates(w.Predicates...))
	}
	if err := build.Complete(p.Meters.Measured(telemetry.Experiments, clock.RealClock{}, queue, discreet(e))); err != nil {
		return fmt.Errorf("set up the experiment controller: %w", err)
	}
	return nil
}

// Reconcile is one pass over one Experiment.
func (e *ExperimentReconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	return reconcileObject(ctx, &e.writer, e, req.NamespacedName)
}

func (*ExperimentReconciler) gone(context.Context, types.NamespacedName) (time.Duration, error) {
	return 0, nil
}

func (e *ExperimentReconciler) next(seen experiment.Observed) experiment.Plan { return e.engine(seen) }

func (*ExperimentReconciler) heed(seen *experiment.Observed, refused refusal) bool {
	seen.CreateFailures = append(seen.CreateFailures, experiment.CreateFailure{Kind: refused.kind, CreateFailure: refused.CreateFailure})
	return true
}

// observe reads what a decision about the Experiment depends on.
func (e *ExperimentReconciler) observe(ctx context.Context, key types.NamespacedName) (experiment.Observed, error) {
	var ex v1alpha1.Experiment
	if err := e.client.Get(ctx, key, &ex); err != nil {
		return experiment.Observed{}, err
	}
	seen := experiment.Observed{Now: e.clock.Now(), Experiment: &ex}
	versions := map[types.UID]string{ex.UID: ex.ResourceVersion}
	owned := []client.ListOption{client.InNamespace(key.Namespace), client.MatchingFields{ownerIndex: string(ex.UID)}, client.UnsafeDisableDeepCopy}

	var sets appsv1.ReplicaSetList
	var services corev1.ServiceList
	var runs v1alpha1.AnalysisRunList
	for _, list := range []client.ObjectList{&sets, &services, &runs} {
		if err := e.client.List(ctx, list, owned...); err != nil {
			return seen, fmt.Errorf("list what belongs to experiment %s: %w", key, err)
		}
	}
	for i := range sets.Items {
		seen.ReplicaSets = append(seen.ReplicaSets, &sets.Items[i])
		versions[sets.Items[i].UID] = sets.Items[i].ResourceVersion
	}
	for i := range runs.Items {
		seen.AnalysisRuns = append(seen.AnalysisRuns, &runs.Items[i])
		versions[runs.Items[i].UID] = runs.Items[i].ResourceVersion
	}
	for i := range services.Items {
		seen.Services = append(seen.Services, &services.Items[i])
	}
	if err := e.observeNamed(ctx, &seen); err != nil {
		return seen, err
	}
	for _, s := range seen.Services {
		versions[s.UID] = s.ResourceVersion
	}
	templates, err := readTemplates(ctx, e.client, key.Namespace, templatesOf(&ex))
	if err != nil {
		return seen, err
	}
	seen.Templates = templates
	return seen, e.catchUp(ctx, key, versions, seen.Now)
}

// observeNamed adds Services that have the names that the Experiment wants.
func (e *ExperimentReconciler) observeNamed(ctx context.Context, seen *experiment.Observed) error {
	for _, name := range spec.ExperimentServices(seen.Experiment) {
		if slices.ContainsFunc(seen.Services, func(s *corev1.Service) bool { return s.Name == name }) {
			continue
		}
		var service corev1.Service
		err := e.client.Get(ctx, client.ObjectKey{Namespace: seen.Experiment.Namespace, Name: name}, &service)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return fmt.Errorf("read service %s: %w", name, err)
		default:
			seen.Services = append(seen.Services, &service)
		}
	}
	return nil
}

func (e *ExperimentReconciler) look(ctx context.Context, seen *experiment.Observed, p experiment.Plan) (needs bool, err error) {
	if !p.NeedsRollout {
		return false, nil
	}
	return true, e.lookAtRollout(ctx, seen)
}

func (e *ExperimentReconciler) carryOut(ctx context.Context, seen experiment.Observed, next experiment.Plan) (reconcile.Result, error) {
	if next.Writes() {
		if err := e.compare(ctx, seen); err != nil {
			return reconcile.Result{}, err
		}
	}
	e.logNotes(ctx, client.ObjectKeyFromObject(seen.Experiment), next.Notes, next.Writes())
	if err := e.apply(ctx, seen.Experiment, next); err != nil {
		return reconcile.Result{}, err
	}
	return e.wakeAt(next.Wake), nil
}

// lookAtRollout reads the Rollout that an Experiment belongs to from the API server.
func (e *ExperimentReconciler) lookAtRollout(ctx context.Context, seen *experiment.Observed) error {
	seen.RolloutRead = true
	owner := metav1.GetControllerOfNoCopy(seen.Experiment)
	if owner == nil {
		return nil
	}
	var rollout v1alpha1.Rollout
	err := e.live.Get(ctx, client.ObjectKey{Namespace: seen.Experiment.Namespace, Name: owner.Name}, &rollout)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read rollout %s: %w", owner.Name, err)
	}
	seen.Rollout = &rollout
	return nil
}

// apply carries a plan out in its order and stops at the first write that fails. Where the API server refuses one, the others of
// its group are done all the same.
func (e *ExperimentReconciler) apply(ctx context.Context, ex *v1alpha1.Experiment, p experiment.Plan) error {
	var refusals withheld
	for _, changes := range p.Changes() {
		for _, made := range changes {
			if err := e.changeOwned(ctx, ex, made); err != nil && !refusals.add(made, err) {
				return err
			}
		}
		if len(refusals) > 0 {
			return refusals // what comes after counts on it
		}
	}
	if p.Record != nil { // Experiments have no status subresource
		if err := e.patch(ctx, ex, p.Record.From, p.Record.To.DeepCopy(), "the status of experiment"); err != nil {
			return err
		}
	}
	tellEvents(e.events, ex, p.Events)
	if owner := metav1.GetControllerOfNoCopy(ex); owner != nil && owner.Kind == v1alpha1.KindRollout {
		tellEvents(e.events, &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: ex.Namespace, Name: owner.Name, UID: owner.UID}}, p.RolloutEvents)
	}
	return nil
}

// templatesOf are the AnalysisTemplates that an Experiment names.
func templatesOf(ex *v1alpha1.Experiment) []v1alpha1.AnalysisTemplateRef {
	var refs []v1alpha1.AnalysisTemplateRef
	for _, a := range ex.Spec.Analyses {
		refs = append(refs, v1alpha1.AnalysisTemplateRef{TemplateName: a.TemplateName, ClusterScope: a.ClusterScope})
	}
	return refs
}

func indexNamedServices(obj client.Object) []string {
	return spec.ExperimentServices(obj.(*v1alpha1.Experiment))
}

// experimentsNaming are the Experiments that want a Service of this name: their own, or one that is in the way.
func (e *ExperimentReconciler) experimentsNaming(ctx context.Context, service client.Object) []reconcile.Request {
	return e.requests(ctx, nil, client.InNamespace(service.GetNamespace()), client.MatchingFields{serviceIndex: service.GetName()})
}

// experimentsToBegin are the Experiments that have not begun, and may wait for an analysis template.
func (e *ExperimentReconciler) experimentsToBegin(ctx context.Context, template client.Object) []reconcile.Request {
	waiting := func(ex *v1alpha1.Experiment) bool {
		return len(ex.Spec.Analyses) > 0 && len(ex.Status.TemplateStatuses) == 0
	}
	return e.requests(ctx, waiting, client.InNamespace(template.GetNamespace())) // of all, for a template of the cluster
}

func (e *ExperimentReconciler) requests(ctx context.Context, wanted func(*v1alpha1.Experiment) bool, options ...client.ListOption) []reconcile.Request {
	var found v1alpha1.ExperimentList
	if err := e.client.List(ctx, &found, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		e.log.ErrorContext(ctx, "find the Experiments that something concerns", "error", err)
		return nil
	}
	var requests []reconcile.Request
	for i := range found.Items {
		if wanted == nil || wanted(&found.Items[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&found.Items[i])})
		}
	}
	return requests
}
