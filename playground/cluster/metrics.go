package cluster

import (
	"context"
	"crypto/tls"
	"fmt"

	"github.com/sluice-delivery/sluice/playground/resourcemetrics"
	"github.com/sluice-delivery/sluice/playground/serve"
)

// serveMetrics serves the resource-metrics API, and waits until the API server knows it: a client that asks for all kinds in the meantime would be
// told that one group is missing.
func (c *Cluster) serveMetrics(ctx context.Context, ids *identities, servers *serve.Pods) error {
	certificate, err := tls.X509KeyPair(ids.metrics.certPEM, ids.metrics.keyPEM)
	if err != nil {
		return fmt.Errorf("certificate of the resource metrics: %w", err)
	}
	server, err := resourcemetrics.Listen(ids.controllers.config(), resourcemetrics.Options{
		Usage: servers, Certificate: certificate, Authority: ids.authority.certPEM,
	})
	if err != nil {
		return err
	}
	c.run(ctx, "resource metrics", server.Run)
	if err := server.Register(ctx); err != nil {
		return err
	}
	return c.waitFor(ctx, "the resource metrics", server.Ready)
}
