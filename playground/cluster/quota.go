package cluster

import (
	"context"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/resourcequota"
	"k8s.io/kubernetes/pkg/quota/v1/install"
)

const (
	quotaResync = 5 * time.Minute
	// quotaDiscoveryPeriod is how long the quota controller may overlook a kind that was just defined, as in a real cluster.
	quotaDiscoveryPeriod = 30 * time.Second
)

// resourceQuota counts what namespaces use. The API server's admission refuses by these counts; without them it would refuse all that a
// quota is about, since it does not know how much there is.
func (c *controllers) resourceQuota(ctx context.Context, config *rest.Config) (loop, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	quotas, err := install.NewQuotaConfigurationForControllers(generic.ListerFuncForResourceFunc(c.informers.ForResource), c.informers)
	if err != nil {
		return nil, err
	}
	discover := client.Discovery().ServerPreferredNamespacedResources
	counter, err := resourcequota.NewController(ctx, &resourcequota.ControllerOptions{
		QuotaClient:               client.CoreV1(),
		ResourceQuotaInformer:     c.informers.Core().V1().ResourceQuotas(),
		ResyncPeriod:              controller.StaticResyncPeriodFunc(quotaResync),
		InformerFactory:           c.anyInformers(),
		ReplenishmentResyncPeriod: resync,
		DiscoveryFunc:             discover,
		IgnoredResourcesFunc:      quotas.IgnoredResources,
		InformersStarted:          c.informersStarted,
		Registry:                  generic.NewRegistry(quotas.Evaluators()),
		UpdateFilter:              install.DefaultUpdateFilter(),
	})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) {
		var running sync.WaitGroup
		running.Go(func() { counter.Run(ctx, workers) })
		running.Go(func() { counter.Sync(ctx, discover, quotaDiscoveryPeriod) })
		running.Wait()
	}, nil
}
