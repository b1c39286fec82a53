package analysis

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Templates that were stored before there were limits make AnalysisRuns that the API server takes.
func TestRunsOfOldTemplatesAreWithinLimits(t *testing.T) {
	run := withinLimits(v1alpha1.AnalysisRunSpec{
		Metrics: []v1alpha1.Metric{
			{Provider: v1alpha1.MetricProvider{Web: &v1alpha1.WebMetric{TimeoutSeconds: 1e9}}},
			{Provider: v1alpha1.MetricProvider{Prometheus: &v1alpha1.PrometheusMetric{Timeout: new(int64(120))}}},
			{Provider: v1alpha1.MetricProvider{Prometheus: &v1alpha1.PrometheusMetric{Timeout: new(int64(20))}}},
		},
		MeasurementRetention: []v1alpha1.MeasurementRetention{{Limit: 1 << 30}, {Limit: 5}},
	})
	got := []int64{
		run.Metrics[0].Provider.Web.TimeoutSeconds, *run.Metrics[1].Provider.Prometheus.Timeout, *run.Metrics[2].Provider.Prometheus.Timeout,
		int64(run.MeasurementRetention[0].Limit), int64(run.MeasurementRetention[1].Limit),
	}
	if diff := cmp.Diff([]int64{60, 60, 20, 1000, 5}, got); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
}
