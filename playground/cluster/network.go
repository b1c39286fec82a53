package cluster

import (
	"context"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/pkg/controller/endpoint"
	"k8s.io/kubernetes/pkg/controller/endpointslice"
)

// endpointsPerSlice is kube-controller-manager's default.
const endpointsPerSlice = 100

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
		c.endpointsBatch,
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
		c.endpointsBatch,
	)
	return func(ctx context.Context) { controller.Run(ctx, workers) }, nil
}
