package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	runtimeconfig "sigs.k8s.io/controller-runtime/pkg/config"
	runtimecontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/elb"
	"github.com/sluice-delivery/sluice/internal/fair"
	"github.com/sluice-delivery/sluice/internal/metric/registry"
	"github.com/sluice-delivery/sluice/internal/metric/server"
	"github.com/sluice-delivery/sluice/internal/metricsapi"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/telemetry"
)

const (
	// longestPass ends a pass. One takes milliseconds; only an API server that does not answer, or --qps, makes it take longer.
	longestPass = 30 * time.Second
	// longestEnd is how long passes may go on that are under way when the process is to end.
	longestEnd = 5 * time.Second
)

// Options are what the controller process can be told.
type Options struct {
	// Namespace to manage; empty for all.
	Namespace string
	// OwnNamespace holds the leader election's lease, and the Secrets of metric providers.
	OwnNamespace string
	// InstanceID restricts the controller to objects that carry it as a label, and no ID to objects that carry none.
	InstanceID string
	// MetricsPort and HealthzPort are TCP ports; 0 switches the server off.
	MetricsPort, HealthzPort int
	// MetricsSecure serves metrics by TLS, and only to those who may get /metrics; MetricsCertDir has tls.crt and tls.key, and is empty for a
	// self-signed certificate.
	MetricsSecure  bool
	MetricsCertDir string
	LeaderElect    bool
	LeaseDuration  time.Duration
	RenewDeadline  time.Duration
	RetryPeriod    time.Duration
	// RolloutThreads, ExperimentThreads and AnalysisThreads are how many objects of each kind are worked on at once.
	RolloutThreads, ExperimentThreads, AnalysisThreads int
	// AnalysisAllow are ranges of addresses that measurements may ask although they are refused by default, AnalysisDeny those that they may not
	// ask in any case.
	AnalysisAllow, AnalysisDeny []string
	// PrometheusAddress is that of the server where a metric names none; may be empty.
	PrometheusAddress string
	// Env reads the environment variables that have credentials of metric providers; nil for none.
	Env func(string) string
	// JobKubeconfig is that of the cluster where Jobs run that are measurements, and JobNamespace their namespace; both may be empty.
	JobKubeconfig, JobNamespace string
	// AllowUnconfinedJobs lets Jobs have any pod spec and service account that do not run in their AnalysisRun's own namespace.
	AllowUnconfinedJobs bool
	// PluginDir is where binaries of plugins are kept.
	PluginDir string
	// Policy is what Rollouts may do beyond what is safe where tenants share a cluster.
	Policy spec.Policy
	// RouteTimeout is how long a weight waits for the Gateways to accept its routes; 0 for not at all.
	RouteTimeout time.Duration
	// VerifyAWS has AWS asked whether its load balancers forward by the weights of Ingresses, and whether pods are registered in target groups.
	VerifyAWS bool
	// Versions are those in which kinds of traffic routers are read and written, if the cluster serves them; others it finds by itself.
	Versions map[schema.GroupKind]string
	// RolloutResync is how often every Rollout is reconciled even if nothing has changed.
	RolloutResync time.Duration
	// PerObjectMetrics adds per-object labels to histograms and request counters.
	PerObjectMetrics bool
	// PprofAddress is where profiles of the process are served; empty for nowhere.
	PprofAddress string
	// TracesEndpoint is the OpenTelemetry collector that updates are reported to; empty for none.
	TracesEndpoint string
}

// Run manages Rollouts until ctx ends.
func Run(ctx context.Context, config *rest.Config, o Options, log *slog.Logger) error {
	ctrl.SetLogger(logr.FromSlogHandler(log.Handler()))
	if err := requireCRDs(ctx, config, log); err != nil {
		return err
	}
	meters := telemetry.New(metrics.Registry, o.PerObjectMetrics)
	config = rest.CopyConfig(config)
	config.Wrap(meters.CountRequests)
	if o.Namespace == "" { // else there is nobody to share with
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return fair.NewGate(next, clock.RealClock{}) })
	}
	traces, err := startTraces(ctx, o, log)
	if err != nil {
		return err
	}
	defer endTraces(traces, log)
	config.Wrap(traces.NoteWrites)
	clusterTemplates, err := mayReadClusterTemplates(ctx, config, o)
	if err != nil {
		return err
	}
	mgr, err := newManager(config, o, clusterTemplates)
	if err != nil {
		return err
	}
	if err := Index(ctx, mgr.GetFieldIndexer(), clusterTemplates); err != nil {
		return err
	}
	metrics.Registry.MustRegister(telemetry.NewObjects(clock.RealClock{}, mgr.GetClient(), clusterTemplates, log))
	events := newEvents(clock.RealClock{}, mgr.GetClient(), log, meters)
	if err := mgr.Add(events); err != nil {
		return err
	}
	sets, err := referredSets(mgr, o)
	if err != nil {
		return err
	}
	parts := Deps{
		Clock: clock.RealClock{}, Client: mgr.GetClient(), Live: servedReader{mgr.GetAPIReader(), mgr.GetRESTMapper()}, Cache: servedCache{mgr.GetCache(), mgr.GetRESTMapper()}, Sets: sets, Mapper: mgr.GetRESTMapper(),
		Granted:   customKindsOf(mgr.GetClient(), mgr.GetRESTMapper(), o.Namespace),
		Namespace: o.Namespace, OwnNamespace: o.OwnNamespace, Policy: o.Policy, RouteTimeout: o.RouteTimeout, Events: events, Log: log, Meters: meters,
	}
	if o.VerifyAWS {
		if parts.Balancers, err = elb.Open(ctx, clock.RealClock{}); err != nil {
			return fmt.Errorf("--aws-verify-target-group: %w", err)
		}
	}
	if err := errors.Join(addPrimary(ctx, mgr, config, o, &parts), addPlugins(ctx, mgr, o, &parts)); err != nil {
		return err
	}
	rollouts := NewRolloutReconciler(parts)
	rollouts.traces = traces
	queue, err := watchQueue(mgr, "rollout", o.workers(o.RolloutThreads))
	if err != nil {
		return err
	}
	build := ctrl.NewControllerManagedBy(mgr).
		Named("rollout").
		For(&v1alpha1.Rollout{}).
		WatchesRawSource(source.Func(rollouts.Announce)).
		WithOptions(runtimecontroller.Options{MaxConcurrentReconciles: o.RolloutThreads, NewQueue: queue.Make})
	for _, w := range rollouts.Watches(clusterTemplates) {
		build = build.Watches(w.Object, w.Handler, builder.WithPredicates(w.Predicates...))
	}
	controller, err := build.Build(meters.Measured(telemetry.Rollouts, clock.RealClock{}, queue, discreet(rollouts)))
	if err != nil {
		return fmt.Errorf("set up the rollout controller: %w", err)
	}
	rollouts.Follow(func(from cache.Cache, what client.Object, to handler.EventHandler) error {
		return controller.Watch(source.Kind(from, what, to))
	})
	if err := mgr.Add(manager.RunnableFunc(rollouts.Search)); err != nil {
		return err
	}
	if err := addAnalysisRuns(ctx, mgr, o, parts); err != nil {
		return err
	}
	if err := startExperiments(mgr, parts, clusterTemplates, o); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// addAnalysisRuns has AnalysisRuns measured.
func addAnalysisRuns(ctx context.Context, mgr manager.Manager, o Options, p Deps) error {
	jobs, err := newJobs(mgr, o)
	if err != nil {
		return err
	}
	reach, err := o.reach()
	if err != nil {
		return err
	}
	metrics, err := metricsapi.Of(mgr.GetConfig())
	if err != nil {
		return err
	}
	providers := registry.New(registry.Options{
		Cluster: metrics,
		Clock:   clock.RealClock{}, PrometheusAddress: o.PrometheusAddress, Network: server.NewNetwork(reach), Jobs: jobs,
		Env: o.Env, Plugins: p.Plugins, Log: p.Log,
	})
	runs := NewAnalysisRunReconciler(ctx, p, providers)
	queue, err := watchQueue(mgr, "analysisrun", o.workers(o.AnalysisThreads))
	if err != nil {
		return err
	}
	build := ctrl.NewControllerManagedBy(mgr).
		Named("analysisrun").
		WatchesRawSource(source.Func(runs.Announce)).
		WithOptions(runtimecontroller.Options{MaxConcurrentReconciles: o.AnalysisThreads, NewQueue: queue.Make})
	for _, w := range runs.Watches() {
		build = build.Watches(w.Object, w.Handler, builder.WithPredicates(w.Predicates...))
	}
	err = build.Complete(p.Meters.Measured(telemetry.AnalysisRuns, clock.RealClock{}, queue, discreet(runs)))
	if err != nil {
		return fmt.Errorf("set up the analysisrun controller: %w", err)
	}
	return nil
}

// watchQueue watches over a controller's queue, and has the liveness probe ask whether it moves.
func watchQueue(mgr manager.Manager, name string, workers int) (*telemetry.Queue, error) {
	queue := telemetry.NewQueue(clock.RealClock{}, name, workers)
	return queue, mgr.AddHealthzCheck(name, queue.Check)
}

// passOptions bound the passes of all controllers.
func passOptions() runtimeconfig.Controller {
	// A standby fills its caches, so that it works from the moment on when it leads.
	return runtimeconfig.Controller{EnableWarmup: new(true), ReconciliationTimeout: longestPass}
}

// Index adds the indices by which the reconcilers read caches.
func Index(ctx context.Context, indexer client.FieldIndexer, clusterTemplates bool) error {
	for _, i := range []struct {
		object client.Object
		name   string
		values client.IndexerFunc
	}{
		{&appsv1.ReplicaSet{}, ownerIndex, indexSet},
		{&v1alpha1.Rollout{}, serviceIndex, indexServices},
		{&v1alpha1.Rollout{}, workloadIndex, indexWorkload},
		{&v1alpha1.Rollout{}, routeIndex, indexRoutes},
		{&v1alpha1.Rollout{}, elsewhereIndex, indexElsewhere},
		{&corev1.Service{}, managerIndex, indexManager},
		{&v1alpha1.AnalysisRun{}, ownerIndex, indexOwner},
		{&v1alpha1.Experiment{}, ownerIndex, indexOwner},
		{&corev1.Service{}, ownerIndex, indexOwner},
		{&v1alpha1.Experiment{}, serviceIndex, indexNamedServices},
		{&v1alpha1.Rollout{}, templateIndex, indexTemplates},
		{&v1alpha1.AnalysisTemplate{}, templateIndex, indexTemplates},
		{&v1alpha1.ClusterAnalysisTemplate{}, templateIndex, indexTemplates},
	} {
		if _, ok := i.object.(*v1alpha1.ClusterAnalysisTemplate); ok && !clusterTemplates {
			continue
		}
		if err := indexer.IndexField(ctx, i.object, i.name, i.values); err != nil {
			return fmt.Errorf("index %T by %s: %w", i.object, i.name, err)
		}
	}
	return nil
}

// newClient says how clients of the API server are made.
func newClient(clusterTemplates bool) client.NewClientFunc {
	return func(config *rest.Config, o client.Options) (client.Client, error) {
		c, err := client.New(config, o)
		if err != nil {
			return nil, err
		}
		c = metadataOnly{served{c}}
		if !clusterTemplates {
			c = namespaced{c}
		}
		return c, nil
	}
}

func newManager(config *rest.Config, o Options, clusterTemplates bool) (manager.Manager, error) {
	cached, err := caching(o)
	if err != nil {
		return nil, err
	}
	options := manager.Options{
		Scheme:                        Scheme(),
		Cache:                         cached,
		Client:                        client.Options{Cache: &client.CacheOptions{Unstructured: true}}, // of traffic routers
		NewClient:                     newClient(clusterTemplates),
		MapperProvider:                newMapper(o.Versions),
		Metrics:                       o.metricsServer(),
		HealthProbeBindAddress:        address(o.HealthzPort),
		PprofBindAddress:              o.PprofAddress,
		LeaderElection:                o.LeaderElect,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &o.LeaseDuration,
		RenewDeadline:                 &o.RenewDeadline,
		RetryPeriod:                   &o.RetryPeriod,
		Controller:                    passOptions(),
		GracefulShutdownTimeout:       new(longestEnd),
	}
	var lease *election
	if o.LeaderElect {
		if lease, err = newElection(clock.RealClock{}, config, o); err != nil {
			return nil, err
		}
		options.LeaderElectionResourceLockInterface = lease
	}
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return nil, fmt.Errorf("set up: %w", err)
	}
	if lease != nil {
		if err := mgr.AddReadyzCheck("leader", lease.Check); err != nil {
			return nil, err
		}
	}
	caches := &filled{}
	return mgr, errors.Join(mgr.Add(caches), mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("caches", caches.Check))
}

// Scheme has the kinds that the controller reads and writes.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		v1alpha1.AddToScheme, appsv1.AddToScheme, autoscalingv1.AddToScheme, batchv1.AddToScheme, corev1.AddToScheme, discoveryv1.AddToScheme,
		policyv1.AddToScheme,
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
	ofVersion, err := versionSelector()
	if err != nil {
		return cache.Options{}, err
	}
	options := cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&v1alpha1.AnalysisRun{}: {Label: ofInstance},
			&v1alpha1.Experiment{}:  {Label: ofInstance},

			&v1alpha1.Rollout{}:  {Label: ofInstance, SyncPeriod: &o.RolloutResync},
			&appsv1.ReplicaSet{}: {Label: ofVersion},

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

// versionSelector selects the ReplicaSets that carry a version's hash.
func versionSelector() (labels.Selector, error) {
	requirement, err := labels.NewRequirement(v1alpha1.PodTemplateHashLabel, selection.Exists, nil)
	if err != nil {
		return nil, err
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
