package analysis

import (
	"fmt"
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

// Templates that name each other in a long row, and more templates than an object may use, are problems of those that name them, and cost
// little.
func TestTemplatesThatNameTooMuch(t *testing.T) {
	ref := func(n int) v1alpha1.AnalysisTemplateRef {
		return v1alpha1.AnalysisTemplateRef{TemplateName: fmt.Sprint("t", n)}
	}
	row := func(length int) Templates {
		known := Templates{}
		for i := range length {
			known[ref(i)] = &v1alpha1.AnalysisTemplateSpec{}
			if i < length-1 {
				known[ref(i)].Templates = []v1alpha1.AnalysisTemplateRef{ref(i + 1)}
			}
		}
		return known
	}
	wide := row(1)
	wide[ref(1)] = TooMany
	wide[ref(0)].Templates = []v1alpha1.AnalysisTemplateRef{ref(1)}
	for name, c := range map[string]struct {
		known Templates
		found int
		want  string
	}{
		"as deep as may be": {row(MostLevels), MostLevels, ""},
		"deeper":            {row(10_000), MostLevels, `AnalysisTemplate "t20" is more than 20 templates down: t0 → t1 → t20; let templates name each other less deeply`},
		"too many":          {wide, 1, `more than 200 templates are used, with those that templates name in turn; AnalysisTemplate "t1" and others are left out: name fewer`},
	} {
		t.Run(name, func(t *testing.T) {
			found, problems := collect("spec.analysis", []v1alpha1.AnalysisTemplateRef{ref(0)}, c.known)
			got := ""
			for _, p := range problems {
				got += p.Text
			}
			if len(found) != c.found || got != c.want {
				t.Errorf("%d templates, and the problem %q", len(found), got)
			}
		})
	}
}
