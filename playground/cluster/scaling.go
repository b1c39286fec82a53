package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/scale"
	"k8s.io/kubernetes/pkg/controller/disruption"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
	"k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
	resourceclient "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"
	"k8s.io/metrics/pkg/client/custom_metrics"
	"k8s.io/metrics/pkg/client/external_metrics"
)

// The autoscaler's settings are kube-controller-manager's defaults, but that it looks three times as often: who tries
// something out waits for it.
const (
	autoscalerPeriod           = 5 * time.Second
	autoscalerDownscaleWindow  = 5 * time.Minute
	autoscalerTolerance        = 0.1
	autoscalerInitialization   = 5 * time.Minute
	autoscalerInitialReadiness = 30 * time.Second
)

// horizontalPodAutoscaler enforces minReplicas and maxReplicas immediately; for more it needs a metrics API: that of package resourcemetrics, or one
// that users install.
func (c *controllers) horizontalPodAutoscaler(ctx context.Context, config *rest.Config) (loop, error) {
	client, scales, err := c.scaleClient(config)
	if err != nil {
		return nil, err
	}
	resources, err := resourceclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("resource metrics: %w", err)
	}
	external, err := external_metrics.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("external metrics: %w", err)
	}
	versions := custom_metrics.NewAvailableAPIsGetter(client.Discovery())
	controller := podautoscaler.NewHorizontalController(ctx,
		client.CoreV1(),
		scales,
		client.AutoscalingV2(),
		c.mapper,
		metrics.NewRESTMetricsClient(resources, custom_metrics.NewForConfig(config, c.mapper, versions), external),
		c.informers.Autoscaling().V2().HorizontalPodAutoscalers(),
		c.informers.Core().V1().Pods(),
		autoscalerPeriod,
		autoscalerDownscaleWindow,
		autoscalerTolerance,
		autoscalerInitialization,
		autoscalerInitialReadiness,
	)
	return func(ctx context.Context) {
		var running sync.WaitGroup
		running.Go(func() { custom_metrics.PeriodicallyInvalidate(versions, autoscalerPeriod, ctx.Done()) })
		running.Go(func() { controller.Run(ctx, workers) })
		running.Wait()
	}, nil
}

// disruption keeps the status of PodDisruptionBudgets, on which evictions are decided.
func (c *controllers) disruption(ctx context.Context, config *rest.Config) (loop, error) {
	client, scales, err := c.scaleClient(config)
	if err != nil {
		return nil, err
	}
	controller := disruption.NewDisruptionController(ctx,
		c.informers.Core().V1().Pods(),
		c.informers.Policy().V1().PodDisruptionBudgets(),
		c.informers.Core().V1().ReplicationControllers(),
		c.informers.Apps().V1().ReplicaSets(),
		c.informers.Apps().V1().Deployments(),
		c.informers.Apps().V1().StatefulSets(),
		client,
		c.mapper,
		scales,
		client.Discovery(),
	)
	return controller.Run, nil
}

// scaleClient reaches the scale subresource of any kind, those of custom resources included.
func (c *controllers) scaleClient(config *rest.Config) (kubernetes.Interface, scale.ScalesGetter, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	kinds := scale.NewDiscoveryScaleKindResolver(client.Discovery())
	scales, err := scale.NewForConfig(config, c.mapper, dynamic.LegacyAPIPathResolverFunc, kinds)
	if err != nil {
		return nil, nil, fmt.Errorf("scale: %w", err)
	}
	return client, scales, nil
}
