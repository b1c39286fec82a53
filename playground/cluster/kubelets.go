package cluster

import (
	"context"
	"log/slog"
	"os"

	"k8s.io/client-go/rest"

	"github.com/sluice-delivery/sluice/playground/kubelet"
	"github.com/sluice-delivery/sluice/playground/serve"
)

// runKubelets simulates the nodes and whatever runs on them.
func (c *Cluster) runKubelets(ctx context.Context, config *rest.Config, opts Options, servers *serve.Pods, log *os.File) {
	if opts.Nodes == 0 {
		return
	}
	c.run(ctx, "kubelets", func(ctx context.Context) error {
		return kubelet.Run(ctx, config, kubelet.Options{
			Nodes:         opts.Nodes,
			PodReadyAfter: opts.PodReadyAfter,
			Serve:         servers,
			Log:           slog.New(slog.NewTextHandler(log, nil)),
		})
	})
}
