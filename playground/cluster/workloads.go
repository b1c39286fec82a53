package cluster

import (
	"context"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/ttlafterfinished"
)

func (c *controllers) replicaSet(ctx context.Context, config *rest.Config) (loop, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	controller := replicaset.NewReplicaSetController(ctx,
		c.informers.Apps().V1().ReplicaSets(),
		c.informers.Core().V1().Pods(),
		client,
		replicaset.BurstReplicas,
	)
	return func(ctx context.Context) { controller.Run(ctx, workers) }, nil
}

func (c *controllers) deployment(ctx context.Context, config *rest.Config) (loop, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	controller, err := deployment.NewDeploymentController(ctx,
		c.informers.Apps().V1().Deployments(),
		c.informers.Apps().V1().ReplicaSets(),
		c.informers.Core().V1().Pods(),
		client,
	)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) { controller.Run(ctx, workers) }, nil
}

func (c *controllers) job(ctx context.Context, config *rest.Config) (loop, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	controller, err := job.NewController(ctx,
		client,
		c.informers.Core().V1().Pods(),
		c.informers.Batch().V1().Jobs(),
		// Workloads and pod groups belong to an alpha feature that is off.
		nil, nil,
	)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) { controller.Run(ctx, workers) }, nil
}

func (c *controllers) ttlAfterFinished(ctx context.Context, config *rest.Config) (loop, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	controller := ttlafterfinished.New(ctx, c.informers.Batch().V1().Jobs(), client)
	return func(ctx context.Context) { controller.Run(ctx, workers) }, nil
}
