package metric

import (
	"maps"
	"slices"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// NameOf is the name of the provider that a metric asks for, as its field is called; for a plugin the plugin's own. Empty for none.
func NameOf(p v1alpha1.MetricProvider) string {
	for name, set := range map[string]bool{
		"prometheus": p.Prometheus != nil, "kayenta": p.Kayenta != nil, "web": p.Web != nil, "datadog": p.Datadog != nil,
		"wavefront": p.Wavefront != nil, "newRelic": p.NewRelic != nil, "job": p.Job != nil, "cloudWatch": p.CloudWatch != nil,
		"graphite": p.Graphite != nil, "influxdb": p.Influxdb != nil, "skywalking": p.SkyWalking != nil,
	} {
		if set {
			return name
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Plugin)) {
		return name
	}
	return ""
}
