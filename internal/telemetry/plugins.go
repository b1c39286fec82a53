package telemetry

import "github.com/prometheus/client_golang/prometheus"

// Plugin is how a plugin is doing that was needed.
type Plugin struct {
	Kind, Name       string
	Running          bool
	Starts, Failures int
}

var (
	ofPlugin       = []string{"kind", "plugin"}
	pluginRunning  = prometheus.NewDesc("sluice_plugin_running", "Whether the process of a plugin that was needed runs.", ofPlugin, nil)
	pluginStarts   = prometheus.NewDesc("sluice_plugin_starts_total", "How often the process of a plugin was started.", ofPlugin, nil)
	pluginFailures = prometheus.NewDesc("sluice_plugin_failures_total", "How often a plugin could not be started, ended by itself, or was ended because it did not answer.", ofPlugin, nil)
)

// NewPlugins reports the plugins of a controller. There are as many as the administrator lists.
func NewPlugins(states func() []Plugin) prometheus.Collector { return plugins(states) }

type plugins func() []Plugin

// Describe implements [prometheus.Collector].
func (plugins) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{pluginRunning, pluginStarts, pluginFailures} {
		out <- d
	}
}

// Collect implements [prometheus.Collector].
func (p plugins) Collect(out chan<- prometheus.Metric) {
	for _, s := range p() {
		running := 0.0
		if s.Running {
			running = 1
		}
		gauge(out, pluginRunning, running, s.Kind, s.Name)
		out <- prometheus.MustNewConstMetric(pluginStarts, prometheus.CounterValue, float64(s.Starts), s.Kind, s.Name)
		out <- prometheus.MustNewConstMetric(pluginFailures, prometheus.CounterValue, float64(s.Failures), s.Kind, s.Name)
	}
}
