package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	cacheddiscovery "k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/controller-manager/pkg/informerfactory"
)

// workers is how many objects of a kind one controller works on at a time, as kube-controller-manager does by default.
const workers = 5

// controllers run what kube-controller-manager runs, as far as rollouts and what they own depend on it.
//
// The manager itself is not used: it links every controller there is, and with them the volume plugins, the scheduler and
// half of the kubelet.
type controllers struct {
	config *rest.Config
	// endpointsBatch is [Options.EndpointsBatch].
	endpointsBatch time.Duration
	mapper         *restmapper.DeferredDiscoveryRESTMapper

	informers         informers.SharedInformerFactory
	metadataInformers metadatainformer.SharedInformerFactory
	// informersStarted tells controllers that add informers later that they must start them themselves.
	informersStarted chan struct{}

	loops []loop
}

// A loop is a controller at work. It returns when its context ends.
type loop func(context.Context)

// runControllers builds all controllers and runs them until its context ends.
func runControllers(config *rest.Config, endpointsBatch time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		c, err := newControllers(ctx, config, endpointsBatch)
		if err != nil {
			return err
		}
		c.run(ctx)
		return nil
	}
}

// newControllers builds all controllers, but runs none.
func newControllers(ctx context.Context, config *rest.Config, endpointsBatch time.Duration) (*controllers, error) {
	client, err := kubernetes.NewForConfig(rest.AddUserAgent(config, "shared-informers"))
	if err != nil {
		return nil, fmt.Errorf("controllers: %w", err)
	}
	metadataClient, err := metadata.NewForConfig(rest.AddUserAgent(config, "metadata-informers"))
	if err != nil {
		return nil, fmt.Errorf("controllers: %w", err)
	}
	c := &controllers{
		config:            config,
		endpointsBatch:    endpointsBatch,
		mapper:            restmapper.NewDeferredDiscoveryRESTMapper(cacheddiscovery.NewMemCacheClient(client.Discovery())),
		informers:         informers.NewSharedInformerFactoryWithOptions(client, resync(), informers.WithTransform(dropManagedFields)),
		metadataInformers: metadatainformer.NewSharedInformerFactoryWithOptions(metadataClient, resync(), metadatainformer.WithTransform(dropManagedFields)),
		informersStarted:  make(chan struct{}),
	}
	for name, build := range map[string]func(context.Context, *rest.Config) (loop, error){
		"replicaset-controller":              c.replicaSet,
		"deployment-controller":              c.deployment,
		"job-controller":                     c.job,
		"ttl-after-finished-controller":      c.ttlAfterFinished,
		"horizontal-pod-autoscaler":          c.horizontalPodAutoscaler,
		"disruption-controller":              c.disruption,
		"endpointslice-controller":           c.endpointSlice,
		"endpoint-controller":                c.endpoints,
		"namespace-controller":               c.namespace,
		"resourcequota-controller":           c.resourceQuota,
		"service-account-controller":         c.serviceAccount,
		"clusterrole-aggregation-controller": c.clusterRoleAggregation,
		"generic-garbage-collector":          c.garbageCollector,
	} {
		// Each by its own user agent, so that the audit log can tell them apart.
		loop, err := build(ctx, rest.AddUserAgent(config, name))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		c.loops = append(c.loops, loop)
	}
	return c, nil
}

// run works until ctx ends and every controller has stopped.
func (c *controllers) run(ctx context.Context) {
	c.informers.Start(ctx.Done())
	c.metadataInformers.Start(ctx.Done())
	close(c.informersStarted)
	var running sync.WaitGroup
	for _, loop := range c.loops {
		running.Go(func() { loop(ctx) })
	}
	running.Wait()
}

// anyInformers serve the controllers that watch kinds which they learn from discovery.
func (c *controllers) anyInformers() informerfactory.InformerFactory {
	return informerfactory.NewInformerFactory(c.informers, c.metadataInformers)
}

// resync is how often controllers look at everything again although nothing changed. Half a day, as in a real cluster.
func resync() time.Duration { return 12 * time.Hour }

// dropManagedFields halves the memory of the caches; no controller reads that field.
func dropManagedFields(obj any) (any, error) {
	if accessor, err := meta.Accessor(obj); err == nil {
		accessor.SetManagedFields(nil)
	}
	return obj, nil
}
