package cluster

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
	"k8s.io/kubernetes/pkg/controller/serviceaccount"
)

const (
	namespaceResync = 5 * time.Minute
	// garbageDiscoveryPeriod is how long the garbage collector may overlook a kind that was just defined. It is 30 s in a
	// real cluster; a playground meets new kinds in its first seconds, and is asked about their children right afterwards.
	garbageDiscoveryPeriod = 2 * time.Second
	garbageWorkers         = 20
)

// garbageCollector deletes what is owned by objects that are gone.
func (c *controllers) garbageCollector(ctx context.Context, config *rest.Config) (loop, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	metadataClient, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	graph := garbagecollector.NewDependencyGraphBuilder(ctx, metadataClient, c.mapper,
		garbagecollector.DefaultIgnoredResources(), c.anyInformers(), c.informersStarted)
	collector, err := garbagecollector.NewComposedGarbageCollector(ctx, client, metadataClient, c.mapper, graph)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) {
		var running sync.WaitGroup
		running.Go(func() { collector.Run(ctx, garbageWorkers, garbageDiscoveryPeriod) })
		running.Go(func() { collector.Sync(ctx, client.Discovery(), garbageDiscoveryPeriod) })
		running.Wait()
	}, nil
}

// namespace empties namespaces that are being deleted.
func (c *controllers) namespace(ctx context.Context, config *rest.Config) (loop, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	metadataClient, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	controller := namespace.NewNamespaceController(ctx,
		client,
		metadataClient,
		client.Discovery().ServerPreferredNamespacedResources,
		c.informers.Core().V1().Namespaces(),
		namespaceResync,
		corev1.FinalizerKubernetes,
	)
	return func(ctx context.Context) { controller.Run(ctx, 2*workers) }, nil
}

// serviceAccount gives each namespace its default service account, without which no pod is accepted.
func (c *controllers) serviceAccount(ctx context.Context, config *rest.Config) (loop, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	controller, err := serviceaccount.NewServiceAccountsController(klog.FromContext(ctx),
		c.informers.Core().V1().ServiceAccounts(),
		c.informers.Core().V1().Namespaces(),
		client,
		serviceaccount.DefaultServiceAccountsControllerOptions(),
	)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) { controller.Run(ctx, 1) }, nil
}

// clusterRoleAggregation makes admin, edit and view include what install manifests add to them.
func (c *controllers) clusterRoleAggregation(_ context.Context, config *rest.Config) (loop, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	controller := clusterroleaggregation.NewClusterRoleAggregation(c.informers.Rbac().V1().ClusterRoles(), client.RbacV1())
	return func(ctx context.Context) { controller.Run(ctx, workers) }, nil
}
