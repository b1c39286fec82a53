// Package metricsapi has the metrics APIs of a cluster asked with the identity that a program has there anyway. What must not be here: what is
// asked, which the provider in internal/metric/kubernetes decides.
package metricsapi

import (
	"k8s.io/client-go/rest"

	"github.com/sluice-delivery/sluice/internal/metric/kubernetes"
	"github.com/sluice-delivery/sluice/internal/metric/server"
)

// Of is the cluster of a configuration, over connections of its own: measurements that wait share none with reconciles.
func Of(config *rest.Config) (kubernetes.Cluster, error) {
	config = rest.CopyConfig(config)
	config.DisableCompression = !config.DisableCompression // client-go shares connections among configurations that are alike
	at, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return kubernetes.Cluster{}, err
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return kubernetes.Cluster{}, err
	}
	return kubernetes.Cluster{Address: at.String(), Network: server.Only(at, transport)}, nil
}
