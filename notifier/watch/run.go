package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/telemetry"
	"github.com/sluice-delivery/sluice/notifier/config"
	"github.com/sluice-delivery/sluice/notifier/deliver"
	"github.com/sluice-delivery/sluice/notifier/send"
)

// leaseName is that of the Lease. When it was made is when notifications began in this cluster.
const leaseName = "sluice-notifier"

// Options are the flags.
type Options struct {
	// OwnNamespace has the configuration and the lease, Namespace is the only one that is watched unless it is empty.
	OwnNamespace, Namespace string
	InstanceID              string
	SelfService             bool
	PerObjectMetrics        bool
	Rules                   send.Rules
	MetricsPort, HealthPort int
	Deadline, CatchUp       time.Duration
	LeaseDuration           time.Duration
}

// Run notifies until ctx ends or the lease is lost.
func Run(ctx context.Context, cluster *rest.Config, network *send.Network, o Options, log *slog.Logger) error {
	ctrl.SetLogger(logr.FromSlogHandler(log.Handler()))
	m, err := newManager(cluster, o)
	if err != nil {
		return err
	}
	queues := deliver.New(ctx, clock.RealClock{})
	n := &notifier{
		client: m.GetClient(), live: m.GetAPIReader(), clock: clock.RealClock{}, log: log, queues: queues, memory: newMemory(),
		configs: &configs{
			reader: m.GetClient(), network: network, own: o.OwnNamespace, selfService: o.SelfService, log: log, loaded: map[string]*loaded{},
		},
		meters: newMeters(metrics.Registry, o.PerObjectMetrics, queues.Len), deadline: o.Deadline, maxAge: o.CatchUp,
	}
	if err := n.begin(ctx, m, o); err != nil {
		return err
	}
	return m.Start(ctx)
}

func newManager(cluster *rest.Config, o Options) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), coordinationv1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	duration := o.LeaseDuration
	renew, again := duration*2/3, duration/8
	wait := time.Duration(0) // what is under way is repeated by the next one, or was recorded
	m, err := ctrl.NewManager(cluster, ctrl.Options{
		Scheme: scheme, Cache: caching(o), Client: client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Metrics: server.Options{BindAddress: address(o.MetricsPort)}, HealthProbeBindAddress: address(o.HealthPort),
		LeaderElection: true, LeaderElectionID: leaseName, LeaderElectionNamespace: o.OwnNamespace, LeaderElectionReleaseOnCancel: true,
		LeaseDuration: &duration, RenewDeadline: &renew, RetryPeriod: &again, GracefulShutdownTimeout: &wait,
	})
	if err != nil {
		return nil, err
	}
	return m, errors.Join(m.AddHealthzCheck("ping", healthz.Ping), m.AddReadyzCheck("ping", healthz.Ping))
}

func address(port int) string {
	if port == 0 {
		return "0"
	}
	return ":" + strconv.Itoa(port)
}

// caching is what is watched: of ConfigMaps and Secrets those two, of events those on our kinds.
func caching(o Options) cache.Options {
	named := func(name string) cache.ByObject {
		by := cache.ByObject{Field: fields.OneTermEqualSelector("metadata.name", name)}
		switch {
		case !o.SelfService:
			by.Namespaces = map[string]cache.Config{o.OwnNamespace: {}}
		case o.Namespace != "":
			by.Namespaces = map[string]cache.Config{o.OwnNamespace: {}, o.Namespace: {}}
		}
		return by
	}
	instance := cache.ByObject{Label: instanceSelector(o.InstanceID)}
	options := cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.ConfigMap{}: named(config.ConfigMapName), &corev1.Secret{}: named(config.SecretName),
			&corev1.Event{}:     {Field: fields.OneTermEqualSelector("involvedObject.apiVersion", v1alpha1.GroupVersion.String())},
			kind("Rollout"):     instance,
			kind("AnalysisRun"): instance,
			kind("Experiment"):  instance,
		},
	}
	if o.Namespace != "" {
		options.DefaultNamespaces = map[string]cache.Config{o.Namespace: {}}
	}
	return options
}

// instanceSelector selects the objects of the controller with this instance ID, which may be none.
func instanceSelector(id string) labels.Selector {
	operator, values := selection.DoesNotExist, []string(nil)
	if id != "" {
		operator, values = selection.Equals, []string{id}
	}
	requirement, err := labels.NewRequirement(v1alpha1.InstanceIDLabel, operator, values)
	if err != nil {
		return labels.Nothing()
	}
	return labels.NewSelector().Add(*requirement)
}

// workers is how many objects of a kind are reconciled at a time.
const workers = 4

// newQueue returns a queue that serves namespaces in turn, with the same metrics as controller-runtime's own. In that one, what was there at the start
// waits until nothing else is left to do, which may be never: events for which there is no room are reconciled again and again.
func newQueue(name string, limit workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return telemetry.NewQueue(clock.RealClock{}, name, workers).Make(name, limit)
}

// begin sets up both ways, which start once this process leads.
func (n *notifier) begin(ctx context.Context, m manager.Manager, o Options) error {
	since, err := began(ctx, n.live, m.GetClient(), o.OwnNamespace)
	if err != nil {
		return err
	}
	n.since = since
	byReason := func(o client.Object) []string { return []string{o.(*corev1.Event).Reason} }
	if err := m.GetFieldIndexer().IndexField(ctx, &corev1.Event{}, reasonField, byReason); err != nil {
		return fmt.Errorf("index events: %w", err)
	}
	parallel := controller.Options{MaxConcurrentReconciles: workers, NewQueue: newQueue}
	r := &rollouts{notifier: n, uids: lru.New(1 << 16)}
	err = ctrl.NewControllerManagedBy(m).Named("rollouts").For(kind("Rollout")).
		Watches(kind("AnalysisRun"), handler.EnqueueRequestForOwner(m.GetScheme(), m.GetRESTMapper(), kind("Rollout"))).
		Watches(&corev1.ConfigMap{}, n.everything("Rollout")).Watches(&corev1.Secret{}, n.everything("Rollout")).
		WithOptions(parallel).Complete(r)
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(m).Named("events").For(&corev1.Event{}).WithOptions(parallel).Complete(&events{n})
}

// everything has all Rollouts reconciled again when a configuration changes.
func (n *notifier) everything(of string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, changed client.Object) []reconcile.Request {
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(of + "List"))
		var in []client.ListOption
		if changed.GetNamespace() != n.configs.own {
			in = append(in, client.InNamespace(changed.GetNamespace()))
		}
		if err := n.client.List(ctx, &list, in...); err != nil {
			n.log.Error("cannot list Rollouts after a change of the configuration", "error", err)
		}
		var all []reconcile.Request
		for i := range list.Items {
			all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
		return all
	})
}

// began is when the lease was made: now, if there is none.
func began(ctx context.Context, live client.Reader, c client.Client, namespace string) (time.Time, error) {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: leaseName}}
	if err := c.Create(ctx, lease); err != nil && !apierrors.IsAlreadyExists(err) {
		return time.Time{}, fmt.Errorf("create the lease: %w", err)
	}
	if err := live.Get(ctx, client.ObjectKeyFromObject(lease), lease); err != nil {
		return time.Time{}, fmt.Errorf("read the lease: %w", err)
	}
	return lease.CreationTimestamp.Time, nil
}
