package controller

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	runtimecontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric/registry"
)

// Options are what the controller process can be told.
type Options struct {
	// Namespace to look after; empty for all.
	Namespace string
	// OwnNamespace holds the leader election's lease.
	OwnNamespace string
	// InstanceID restricts the controller to objects that carry it as a label, and no ID to objects that carry none.
	InstanceID string
	// MetricsPort and HealthzPort are TCP ports; 0 switches the server off.
	MetricsPort, HealthzPort int
	LeaderElect              bool
	LeaseDuration            time.Duration
	RenewDeadline            time.Duration
	RetryPeriod              time.Duration
	// RolloutThreads and AnalysisThreads are how many Rollouts and AnalysisRuns are worked on at once.
	RolloutThreads, AnalysisThreads int
	// PrometheusAddress is that of the server where a metric names none; may be empty.
	PrometheusAddress string
	// JobKubeconfig is that of the cluster where Jobs run that are measurements, and JobNamespace their namespace; both may be empty.
	JobKubeconfig, JobNamespace string
	// RolloutResync is how often every Rollout is looked at although nothing has happened.
	RolloutResync time.Duration
	// PprofAddress is where profiles of the process are served; empty for nowhere.
	PprofAddress string
}

// Run looks after Rollouts until ctx ends.
func Run(ctx context.Context, config *rest.Config, o Options, log *slog.Logger) error {
	ctrl.SetLogger(logr.FromSlogHandler(log.Handler()))
	if err := requireCRDs(ctx, config, log); err != nil {
		return err
	}
	mgr, err := newManager(config, o)
	if err != nil {
		return err
	}
	if err := index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	events := newEvents(clock.RealClock{}, mgr.GetClient(), log)
	if err := mgr.Add(events); err != nil {
		return err
	}
	rollouts := NewRollouts(clock.RealClock{}, mgr.GetClient(), mgr.GetAPIReader(), events, log)
	rollouts.workloads, err = newWorkloads(mgr, o, rollouts)
	if err != nil {
		return err
	}
	controller, err := ctrl.NewControllerManagedBy(mgr).
		Named("rollout").
		For(&v1alpha1.Rollout{}).
		Owns(&appsv1.ReplicaSet{}).
		Owns(&v1alpha1.AnalysisRun{}, builder.WithPredicates(phaseChanged)).
		Owns(&v1alpha1.Experiment{}).
		Watches(&v1alpha1.AnalysisTemplate{}, handler.EnqueueRequestsFromMapFunc(rollouts.rolloutsUsing)).
		Watches(&v1alpha1.ClusterAnalysisTemplate{}, handler.EnqueueRequestsFromMapFunc(rollouts.rolloutsUsing)).
		Watches(&corev1.Service{}, handler.EnqueueRequestsFromMapFunc(rollouts.rolloutsOf)).
		WithOptions(runtimecontroller.Options{MaxConcurrentReconciles: o.RolloutThreads}).
		Build(rollouts)
	if err != nil {
		return fmt.Errorf("set up the rollout controller: %w", err)
	}
	rollouts.workloads.watch = controller.Watch
	if err := addAnalysisRuns(ctx, mgr, o, events, log); err != nil {
		return err
	}
	if err := startExperiments(mgr, events, log, o.RolloutThreads); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// addAnalysisRuns has AnalysisRuns measured.
func addAnalysisRuns(ctx context.Context, mgr manager.Manager, o Options, events record.EventRecorder, log *slog.Logger) error {
	jobs, err := newJobs(mgr, o)
	if err != nil {
		return err
	}
	providers := registry.New(registry.Options{Clock: clock.RealClock{}, PrometheusAddress: o.PrometheusAddress, Jobs: jobs})
	runs := NewAnalysisRuns(ctx, clock.RealClock{}, mgr.GetClient(), mgr.GetAPIReader(), events, log, providers)
	err = ctrl.NewControllerManagedBy(mgr).
		Named("analysisrun").
		For(&v1alpha1.AnalysisRun{}, builder.WithPredicates(notOnlyMeasured)).
		WatchesRawSource(source.Func(runs.flights.announce)).
		WithOptions(runtimecontroller.Options{MaxConcurrentReconciles: o.AnalysisThreads}).
		Complete(runs)
	if err != nil {
		return fmt.Errorf("set up the analysisrun controller: %w", err)
	}
	return nil
}

func index(ctx context.Context, indexer client.FieldIndexer) error {
	for _, i := range []struct {
		object client.Object
		name   string
		values client.IndexerFunc
	}{
		{&appsv1.ReplicaSet{}, ownerIndex, indexOwner},
		{&v1alpha1.Rollout{}, serviceIndex, indexServices},
		{&v1alpha1.Rollout{}, workloadIndex, indexWorkload},
		{&corev1.Service{}, managerIndex, indexManager},
		{&v1alpha1.AnalysisRun{}, ownerIndex, indexOwner},
		{&v1alpha1.Experiment{}, ownerIndex, indexOwner},
		{&corev1.Service{}, ownerIndex, indexOwner},
		{&v1alpha1.Experiment{}, serviceIndex, indexNamedServices},
		{&v1alpha1.Rollout{}, templateIndex, indexTemplates},
		{&v1alpha1.AnalysisTemplate{}, templateIndex, indexTemplates},
		{&v1alpha1.ClusterAnalysisTemplate{}, templateIndex, indexTemplates},
	} {
		if err := indexer.IndexField(ctx, i.object, i.name, i.values); err != nil {
			return fmt.Errorf("index %T by %s: %w", i.object, i.name, err)
		}
	}
	return nil
}

func newManager(config *rest.Config, o Options) (manager.Manager, error) {
	caches, err := caching(o)
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(config, manager.Options{
		Scheme:                        scheme(),
		Cache:                         caches,
		Metrics:                       metricsserver.Options{BindAddress: address(o.MetricsPort)},
		HealthProbeBindAddress:        address(o.HealthzPort),
		PprofBindAddress:              o.PprofAddress,
		LeaderElection:                o.LeaderElect,
		LeaderElectionID:              leaseName(o.InstanceID),
		LeaderElectionNamespace:       o.OwnNamespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &o.LeaseDuration,
		RenewDeadline:                 &o.RenewDeadline,
		RetryPeriod:                   &o.RetryPeriod,
	})
	if err != nil {
		return nil, fmt.Errorf("set up: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, err
	}
	return mgr, nil
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		v1alpha1.AddToScheme, appsv1.AddToScheme, autoscalingv1.AddToScheme, batchv1.AddToScheme, corev1.AddToScheme, policyv1.AddToScheme,
	} {
		if err := add(s); err != nil {
			panic(err) // the types are compiled in
		}
	}
	return s
}

// caching keeps in memory only what can matter: Rollouts of this instance, ReplicaSets that carry a version's hash, and nothing
// of who last wrote which field.
func caching(o Options) (cache.Options, error) {
	ofInstance, err := instanceSelector(o.InstanceID)
	if err != nil {
		return cache.Options{}, err
	}
	ofVersion, err := labels.NewRequirement(v1alpha1.PodTemplateHashLabel, selection.Exists, nil)
	if err != nil {
		return cache.Options{}, err
	}
	options := cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&v1alpha1.AnalysisRun{}: {Label: ofInstance},
			&v1alpha1.Experiment{}:  {Label: ofInstance},

			&v1alpha1.Rollout{}:  {Label: ofInstance, SyncPeriod: &o.RolloutResync},
			&appsv1.ReplicaSet{}: {Label: labels.NewSelector().Add(*ofVersion)},

			&appsv1.Deployment{}:  {Transform: onlyTemplate},
			&corev1.PodTemplate{}: {Transform: onlyTemplate},
		},
	}
	if o.Namespace != "" {
		options.DefaultNamespaces = map[string]cache.Config{o.Namespace: {}}
	}
	return options, nil
}

func instanceSelector(id string) (labels.Selector, error) {
	operator, values := selection.DoesNotExist, []string(nil)
	if id != "" {
		operator, values = selection.Equals, []string{id}
	}
	requirement, err := labels.NewRequirement(v1alpha1.InstanceIDLabel, operator, values)
	if err != nil {
		return nil, fmt.Errorf("instance ID %q cannot be the value of a label: %w", id, err)
	}
	return labels.NewSelector().Add(*requirement), nil
}

func leaseName(instanceID string) string {
	if instanceID == "" {
		return v1alpha1.LeaseName
	}
	return v1alpha1.LeaseName + "-" + instanceID
}

// address of a server on all interfaces; port 0 is controller-runtime's "0" for none.
func address(port int) string {
	if port == 0 {
		return "0"
	}
	return net.JoinHostPort("", strconv.Itoa(port))
}
