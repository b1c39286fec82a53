package cluster

import (
	"context"

	"k8s.io/client-go/rest"
)

// runKubelets simulates the nodes and whatever runs on them.
func (c *Cluster) runKubelets(ctx context.Context, config *rest.Config, opts Options) {
	if opts.Nodes == 0 {
		return
	}
}
