package controller

import (
	"context"
	"log/slog"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis/measure"
	"github.com/sluice-delivery/sluice/internal/experiment"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/plugin"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/telemetry"
)

// Deps are the dependencies of the reconcilers. In a process they come from a manager, in the exploration from an API server in
// memory (internal/sim/shell): the reconcilers cannot tell. Caches, Mapper and Meters are for that of Rollouts.
type Deps struct {
	Clock clock.PassiveClock
	// Client reads from the caches and writes to the API server; Live reads from the API server.
	Client client.Client
	Live   client.Reader
	// Cache is where Client reads; Sets has the ReplicaSets that a workloadRef may refer to.
	Cache, Sets cache.Cache
	Mapper      meta.RESTMapper
	// Granted asks which kinds of trafficRouting.custom the controller may write; nil for none.
	Granted func(context.Context) ([]schema.GroupVersionKind, error)
	// Namespace to manage; empty for all.
	Namespace string
	// OwnNamespace is the controller's own, where the Secrets are that metrics name.
	OwnNamespace string
	// Policy is what the operator lets Rollouts do.
	Policy spec.Policy
	// RouteTimeout is how long a weight waits for its routes to be in force; 0 for not at all.
	RouteTimeout time.Duration
	// Balancers is asked how load balancers of AWS forward; nil for nobody.
	Balancers Balancers
	Events    record.EventRecorder
	Log       *slog.Logger
	Meters    *telemetry.Meters
	// Engine decides about Rollouts; nil for plan.Next.
	Engine func(plan.Observed) plan.Plan
	// Experiment decides about Experiments; nil for experiment.Next.
	Experiment func(experiment.Observed) experiment.Plan
	// Measure decides about AnalysisRuns; nil for measure.Next.
	Measure func(measure.Observed) measure.Plan
	// Plugins keeps the processes of plugins; nil where there are none.
	Plugins *plugin.Host
	// AskStep asks step plugins; nil for those of Plugins.
	AskStep AskStep
	// Go begins what outlives a pass: measurements, and writes that nobody waits for. Nil for goroutines.
	Go func(func())
}

// Watch is a kind of object whose changes concern the objects of a reconciler.
type Watch struct {
	Object     client.Object
	Handler    handler.EventHandler
	Predicates []predicate.Predicate
}

// Watches are the kinds that are watched from the beginning, besides Rollouts. Others are followed from the first Rollout on that names
// one: see Follow.
func (r *RolloutReconciler) Watches(clusterTemplates bool) []Watch {
	owner := handler.EnqueueRequestForOwner(r.client.Scheme(), r.client.RESTMapper(), &v1alpha1.Rollout{}, handler.OnlyControllerOwner())
	using := handler.EnqueueRequestsFromMapFunc(r.rolloutsUsing)
	watches := []Watch{
		{Object: &appsv1.ReplicaSet{}, Handler: owner, Predicates: []predicate.Predicate{notOnlyTold}},
		{Object: &v1alpha1.AnalysisRun{}, Handler: owner, Predicates: []predicate.Predicate{phaseChanged}},
		{Object: &v1alpha1.Experiment{}, Handler: owner},
		{Object: &v1alpha1.AnalysisTemplate{}, Handler: using},
		{Object: &corev1.Service{}, Handler: handler.EnqueueRequestsFromMapFunc(r.rolloutsOf)},
	}
	if clusterTemplates {
		watches = append(watches, Watch{Object: &v1alpha1.ClusterAnalysisTemplate{}, Handler: using})
	}
	return watches
}

// Watches are the kinds that are watched, besides Experiments.
func (e *ExperimentReconciler) Watches(clusterTemplates bool) []Watch {
	owner := handler.EnqueueRequestForOwner(e.client.Scheme(), e.client.RESTMapper(), &v1alpha1.Experiment{}, handler.OnlyControllerOwner())
	waiting := handler.EnqueueRequestsFromMapFunc(e.experimentsToBegin)
	watches := []Watch{
		{Object: &appsv1.ReplicaSet{}, Handler: owner, Predicates: []predicate.Predicate{notOnlyTold}},
		{Object: &v1alpha1.AnalysisRun{}, Handler: owner, Predicates: []predicate.Predicate{phaseChanged}},
		{Object: &corev1.Service{}, Handler: handler.EnqueueRequestsFromMapFunc(e.experimentsNaming)},
		{Object: &v1alpha1.AnalysisTemplate{}, Handler: waiting},
	}
	if clusterTemplates {
		watches = append(watches, Watch{Object: &v1alpha1.ClusterAnalysisTemplate{}, Handler: waiting})
	}
	return watches
}

// Watches are AnalysisRuns only. Finished measurements requeue their AnalysisRun through [AnalysisRunReconciler.Announce].
func (r *AnalysisRunReconciler) Watches() []Watch {
	return []Watch{{Object: &v1alpha1.AnalysisRun{}, Handler: &handler.EnqueueRequestForObject{}, Predicates: []predicate.Predicate{notOnlyMeasured}}}
}

// Follow adds a watch for a kind that a cache has, for kinds that are watched when the first Rollout names one. No reconcile
// may start before.
func (r *RolloutReconciler) Follow(watch func(from cache.Cache, what client.Object, to handler.EventHandler) error) {
	r.workloads.watch, r.routes.watch = watch, watch
}
