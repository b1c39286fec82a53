package cluster

import (
	"context"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/pkg/controller/endpoint"
	"k8s.io/kubernetes/pkg/controller/endpointslice"
)

const (
	// endpointsPerSlice is kube-controller-manager's default.
	endpointsPerSlice = 100
	// Changes of pods are passed on one by one, as they are in a real cluster unless its administrator slows them down.
	endpointsBatchPeriod = 0
)

func (c *controllers) endpointSlice(ctx context.Context, config *rest.Config) (loop, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	controller := endpointslice.NewController(ctx,
		c.informers.Core().V1().Pods(),
		c.informers.Core().V1().Services(),
		c.informers.Core().V1().Nodes(),
		c.informers.Discovery().V1().EndpointSlices(),
		endpointsPerSlice,
		client,
		endpointsBatchPeriod,
	)
	return func(ctx context.Context) { controller.Run(ctx, workers) }, nil
}

// endpoints keeps the older kind, which `kubectl get endpoints` and many scripts still read.
func (c *controllers) endpoints(ctx context.Context, config *rest.Config) (loop, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	controller := endpoint.NewEndpointController(ctx,
		c.informers.Core().V1().Pods(),
		c.informers.Core().V1().Services(),
		c.informers.Core().V1().Endpoints(),
		client,
		endpointsBatchPeriod,
	)
	return func(ctx context.Context) { controller.Run(ctx, workers) }, nil
}
