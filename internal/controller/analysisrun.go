package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis/measure"
	"github.com/sluice-delivery/sluice/internal/experiment"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/registry"
)

// AnalysisRunReconciler carries out what measure.Next decides about AnalysisRunReconciler.
type AnalysisRunReconciler struct {
	writer
	events    record.EventRecorder
	providers registry.Registry
	flights   *inFlight
	engine    func(measure.Observed) measure.Plan
}

// NewAnalysisRunReconciler returns the reconciler of AnalysisRuns. Measurements end with ctx at the latest.
func NewAnalysisRunReconciler(ctx context.Context, p Deps, providers registry.Registry) *AnalysisRunReconciler {
	r := &AnalysisRunReconciler{
		writer: newWriter("analysisrun", p), events: p.Events, providers: providers, flights: newInFlight(ctx, p, providers), engine: p.Measure,
	}
	if r.engine == nil {
		r.engine = measure.Next
	}
	return r
}

// Announce sets the queue that AnalysisRuns are added to when their measurements finish.
func (r *AnalysisRunReconciler) Announce(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	return r.flights.announce(ctx, queue)
}

// notOnlyMeasured leaves out what nobody but this controller writes: it knows already what it measured.
var notOnlyMeasured = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*v1alpha1.AnalysisRun)
	after, alsoOK := e.ObjectNew.(*v1alpha1.AnalysisRun)
	return !ok || !alsoOK || before.Status.Phase != after.Status.Phase || before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
		!equality.Semantic.DeepEqual(before.Spec, after.Spec)
}}

// Reconcile is one pass over one AnalysisRun.
func (r *AnalysisRunReconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	defer r.flights.settle(req.NamespacedName)
	return reconcileObject(ctx, &r.writer, r, req.NamespacedName)
}

func (r *AnalysisRunReconciler) gone(_ context.Context, key types.NamespacedName) (time.Duration, error) {
	r.flights.forget(key)
	return 0, nil
}

// observe reads the run, unless the cache does not show the last write to it. One to an earlier object of that name is forgotten.
func (r *AnalysisRunReconciler) observe(ctx context.Context, key types.NamespacedName) (measure.Observed, error) {
	var run v1alpha1.AnalysisRun
	if err := r.client.Get(ctx, key, &run); err != nil {
		return measure.Observed{}, err
	}
	seen := measure.Observed{Now: r.clock.Now(), Run: &run, Providers: r.providers.Names()}
	r.memory.forgetOthers(key, run.UID)
	if err := r.shown(ctx, key, versions{run.UID: run.ResourceVersion}, seen.Now); err != nil {
		return measure.Observed{}, err
	}
	seen.Results, seen.Busy = r.flights.of(key, run.UID)
	return seen, nil
}

func (r *AnalysisRunReconciler) next(seen measure.Observed) measure.Plan { return r.engine(seen) }

func (r *AnalysisRunReconciler) look(ctx context.Context, seen *measure.Observed, p measure.Plan) (needs bool, err error) {
	if !p.NeedsArguments {
		return false, nil
	}
	seen.Arguments, err = r.lookUp(ctx, seen.Run)
	return true, err
}

func (*AnalysisRunReconciler) heed(*measure.Observed, refusal) bool { return false }

func (r *AnalysisRunReconciler) carryOut(ctx context.Context, seen measure.Observed, next measure.Plan) (reconcile.Result, error) {
	key := client.ObjectKeyFromObject(seen.Run)
	log := r.log.With("analysisrun", key.String())
	aside := r.tellsOfMeasurementsOnly(next)
	switch recording := r.flights.isRecording(seen.Run, !aside); {
	case recording && !aside:
		return reconcile.Result{}, nil // after the write
	case recording:
		r.begin(key, next)
	case aside && next.Record != nil && len(seen.Results) > 0:
		r.recordAside(log, next, len(seen.Results))
		r.begin(key, next)
	default:
		for _, n := range next.Notes {
			log.InfoContext(ctx, n.Text, "reason", n.Reason)
		}
		if err := r.apply(ctx, seen.Run, next, len(seen.Results)); err != nil {
			return reconcile.Result{}, err
		}
	}
	result := r.wakeAt(next.Wake)
	if result.RequeueAfter > 0 {
		result.Priority = new(inTime)
	}
	return result, nil
}

// certain makes sure, before a write, that all earlier ones are known and shown. Passes do not ask for that, since measurements go on while
// the API server answers nobody.
func (r *AnalysisRunReconciler) certain(ctx context.Context, run *v1alpha1.AnalysisRun) error {
	return r.catchUp(ctx, client.ObjectKeyFromObject(run), versions{run.UID: run.ResourceVersion}, r.clock.Now())
}

// apply carries a plan out in its order and stops at the first write that fails. The plan has dealt with that many
// results.
func (r *AnalysisRunReconciler) apply(ctx context.Context, run *v1alpha1.AnalysisRun, p measure.Plan, results int) error {
	key := client.ObjectKeyFromObject(run)
	if err := r.certain(ctx, run); err != nil {
		return err
	}
	r.flights.cancel(key, p.Cancel)
	for _, task := range p.Stop {
		if err := r.stop(ctx, task); err != nil {
			return err
		}
	}
	for _, task := range p.Forget {
		if err := r.forget(ctx, task); err != nil {
			return err
		}
	}
	if p.Record != nil {
		if err := r.patch(ctx, run, p.Record.From, p.Record.To.DeepCopy(), "the status of analysisrun"); err != nil {
			return err
		}
	}
	r.flights.dealtWith(key, results)
	tellEvents(r.events, run, p.Events)
	r.begin(key, p)
	if p.Delete != "" {
		return r.remove(ctx, run, run, experiment.AnalysisRun)
	}
	return nil
}

// begin begins the measurements of a plan.
func (r *AnalysisRunReconciler) begin(key types.NamespacedName, p measure.Plan) {
	for _, task := range p.Measure {
		r.flights.begin(key, task)
	}
}

// tellsOfMeasurementsOnly reports whether nothing of a plan depends on its record being written first: a run that goes on as it did, and
// whose measurements leave nothing behind.
func (r *AnalysisRunReconciler) tellsOfMeasurementsOnly(p measure.Plan) bool {
	if len(p.Stop)+len(p.Cancel)+len(p.Events) > 0 || p.Delete != "" {
		return false
	}
	if p.Record == nil {
		return true
	}
	leavesTraces := func(m v1alpha1.Metric) bool {
		provider := r.providers[metric.NameOf(m.Provider)]
		_, asynchronous := provider.(metric.Asynchronous)
		_, tidy := provider.(metric.Tidy)
		return asynchronous || tidy
	}
	from, to := p.Record.From, p.Record.To
	return from.Status.Phase == to.Status.Phase && from.Status.StartedAt != nil && !slices.ContainsFunc(to.Spec.Metrics, leavesTraces)
}

// recordAside writes a record of measurements without anything waiting for it. What cannot be written is decided on again.
func (r *AnalysisRunReconciler) recordAside(log *slog.Logger, p measure.Plan, results int) {
	from, to := p.Record.From.DeepCopy(), p.Record.To.DeepCopy()
	r.flights.record(from, results, func(ctx context.Context) error {
		err := r.certain(ctx, from)
		if err == nil {
			err = r.patch(ctx, from, from, to, "the status of analysisrun")
		}
		switch {
		case err == nil:
		case movedOn(err), errors.Is(err, errBehind):
			log.Debug("conflict, requeueing", "error", err)
		default:
			log.Error("patch the status of an AnalysisRun; it is tried again", "error", err)
		}
		return err
	})
}

func (r *AnalysisRunReconciler) stop(ctx context.Context, task measure.Task) error {
	provider, ok := r.providers[metric.NameOf(task.Metric.Provider)].(metric.Asynchronous)
	if !ok {
		return nil
	}
	return r.leftBehind(ctx, "stop measuring", task, provider.Stop(ctx, task.Request))
}

func (r *AnalysisRunReconciler) forget(ctx context.Context, task measure.Task) error {
	provider, ok := r.providers[metric.NameOf(task.Metric.Provider)].(metric.Tidy)
	if !ok {
		return nil
	}
	return r.leftBehind(ctx, "clear away after measuring", task, provider.Forget(ctx, task.Request))
}

// leftBehind is what an error means that leaves something of a measurement behind. What the API server refuses to delete it refuses again, and
// the run's verdict does not depend on it: Jobs go with their AnalysisRun, or when their time is over.
func (r *AnalysisRunReconciler) leftBehind(ctx context.Context, what string, task measure.Task, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, metric.ErrUnderway):
		return fmt.Errorf("%w: %s", errBehind, err.Error())
	}
	text := task.Secrets.Hide(err.Error())
	if refused(err) {
		r.log.WarnContext(ctx, "the API server refused to "+what+" a metric; what is left goes later", "analysisrun", task.Run.Namespace+"/"+task.Run.Name,
			"metric", task.Metric.Name, "error", text)
		return nil
	}
	return fmt.Errorf("%s %s: %s", what, task.Metric.Name, text)
}

// lookUp reads the values of arguments that are elsewhere, from the API server, by name and nothing else.
func (r *AnalysisRunReconciler) lookUp(ctx context.Context, run *v1alpha1.AnalysisRun) (*measure.Arguments, error) {
	found := &measure.Arguments{Values: map[string]string{}}
	for _, arg := range run.Spec.Args {
		from := arg.ValueFrom
		if arg.Value != nil || from == nil {
			continue
		}
		var (
			value string
			err   error
		)
		switch {
		case from.SecretKeyRef != nil:
			found.Hidden = append(found.Hidden, arg.Name)
			value, err = r.secret(ctx, run.Namespace, *from.SecretKeyRef)
		case from.ConfigMapKeyRef != nil:
			value, err = r.setting(ctx, run.Namespace, *from.ConfigMapKeyRef)
		default:
			continue
		}
		var missing *missingValue
		switch {
		case errors.As(err, &missing):
			found.Problem = fmt.Sprintf("args.%s: %s", arg.Name, missing)
		case err != nil:
			return nil, fmt.Errorf("args.%s: %w", arg.Name, err)
		default:
			found.Values[arg.Name] = value
		}
	}
	return found, nil
}

// missingValue is why there is no value, in words for the user.
type missingValue struct{ text string }

func (m *missingValue) Error() string { return m.text }

func (r *AnalysisRunReconciler) secret(ctx context.Context, namespace string, ref v1alpha1.SecretKeyRef) (string, error) {
	var secret corev1.Secret
	if err := r.live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, &secret); err != nil {
		return "", absence("Secret", ref.Name, err)
	}
	value, ok := secret.Data[ref.Key]
	if !ok {
		return "", &missingValue{fmt.Sprintf("Secret %q has no key %q: add it, or name another", ref.Name, ref.Key)}
	}
	return string(value), nil
}

func (r *AnalysisRunReconciler) setting(ctx context.Context, namespace string, ref v1alpha1.ConfigMapKeyRef) (string, error) {
	var settings corev1.ConfigMap
	if err := r.live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, &settings); err != nil {
		return "", absence("ConfigMap", ref.Name, err)
	}
	if value, ok := settings.Data[ref.Key]; ok {
		return value, nil
	}
	if value, ok := settings.BinaryData[ref.Key]; ok {
		return string(value), nil
	}
	return "", &missingValue{fmt.Sprintf("ConfigMap %q has no key %q: add it, or name another", ref.Name, ref.Key)}
}

// absence distinguishes what a user can fix from what a retry can fix.
func absence(kind, name string, err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return &missingValue{fmt.Sprintf("%s %q not found: create it in the namespace of the AnalysisRun, or name another", kind, name)}
	case apierrors.IsForbidden(err):
		return &missingValue{fmt.Sprintf("%s %q must not be read: give the controller the right to get it (%s)", kind, name, err)}
	}
	return fmt.Errorf("read %s %s: %w", kind, name, err)
}
