// Package registry is the list of the providers that there are.
package registry

import (
	"log/slog"
	"maps"
	"slices"

	"k8s.io/utils/clock"

	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/aws"
	"github.com/sluice-delivery/sluice/internal/metric/cloudwatch"
	"github.com/sluice-delivery/sluice/internal/metric/datadog"
	"github.com/sluice-delivery/sluice/internal/metric/dynatrace"
	"github.com/sluice-delivery/sluice/internal/metric/elasticsearch"
	"github.com/sluice-delivery/sluice/internal/metric/google"
	"github.com/sluice-delivery/sluice/internal/metric/graphite"
	"github.com/sluice-delivery/sluice/internal/metric/influxdb"
	"github.com/sluice-delivery/sluice/internal/metric/job"
	"github.com/sluice-delivery/sluice/internal/metric/kayenta"
	"github.com/sluice-delivery/sluice/internal/metric/kubernetes"
	"github.com/sluice-delivery/sluice/internal/metric/loki"
	"github.com/sluice-delivery/sluice/internal/metric/newrelic"
	"github.com/sluice-delivery/sluice/internal/metric/plugin"
	"github.com/sluice-delivery/sluice/internal/metric/prometheus"
	"github.com/sluice-delivery/sluice/internal/metric/server"
	"github.com/sluice-delivery/sluice/internal/metric/skywalking"
	"github.com/sluice-delivery/sluice/internal/metric/splunk"
	"github.com/sluice-delivery/sluice/internal/metric/wavefront"
	"github.com/sluice-delivery/sluice/internal/metric/web"
	host "github.com/sluice-delivery/sluice/internal/plugin"
)

// Registry has the providers by the names of their fields in a metric.
type Registry map[string]metric.Provider

// Options are what providers need of their surroundings.
type Options struct {
	Clock clock.PassiveClock
	// PrometheusAddress is that of the server where a metric names none; may be empty.
	PrometheusAddress string
	// Network is what is asked over; nil for the default one.
	Network *server.Network
	// Env reads the controller's environment variables; nil for none.
	Env func(string) string
	// Cluster is where the metrics APIs of Kubernetes are served.
	Cluster kubernetes.Cluster
	// Jobs is where measurements run that are Jobs.
	Jobs job.Provider
	// Plugins keeps metric plugins; nil for none. Log is for what becomes of calls that nobody waits for.
	Plugins *host.Host
	Log     *slog.Logger
}

// New returns all providers.
func New(o Options) Registry {
	amazon, google := &aws.Account{Clock: o.Clock}, &google.Account{}
	return Registry{
		"cloudWatch":          cloudwatch.Provider{Clock: o.Clock, Network: o.Network, Account: amazon},
		"datadog":             datadog.Provider{Clock: o.Clock, Network: o.Network, Env: o.Env},
		"dynatrace":           dynatrace.Provider{Clock: o.Clock, Network: o.Network},
		"elasticsearch":       elasticsearch.Provider{Network: o.Network},
		"graphite":            graphite.Provider{Network: o.Network},
		"influxdb":            influxdb.Provider{Network: o.Network},
		"job":                 o.Jobs,
		"kayenta":             kayenta.Provider{Clock: o.Clock, Network: o.Network},
		"kubernetes":          kubernetes.Provider{Cluster: o.Cluster},
		"loki":                loki.Provider{Clock: o.Clock, Network: o.Network},
		"newRelic":            newrelic.Provider{Network: o.Network},
		"plugin":              &plugin.Provider{Clock: o.Clock, Host: o.Plugins, Log: o.Log},
		"prometheus":          prometheus.Provider{Clock: o.Clock, Address: o.PrometheusAddress, Network: o.Network, AWS: amazon, Google: google},
		"skywalking":          skywalking.Provider{Clock: o.Clock, Network: o.Network},
		"splunkObservability": splunk.Provider{Clock: o.Clock, Network: o.Network},
		"wavefront":           wavefront.Provider{Clock: o.Clock, Network: o.Network},
		"web":                 web.Provider{Network: o.Network},
	}
}

// Names are what there is.
func (r Registry) Names() []string { return slices.Sorted(maps.Keys(r)) }
