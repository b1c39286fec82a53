package spec

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

func compared(change func(*v1alpha1.Metric, *v1alpha1.Comparison)) *v1alpha1.Metric {
	m := &v1alpha1.Metric{
		InitialDelay: "10m",
		Comparison:   &v1alpha1.Comparison{Signals: []v1alpha1.ComparisonSignal{{Name: "a", Canary: "a", Baseline: "b"}}},
		Provider:     v1alpha1.MetricProvider{Prometheus: &v1alpha1.PrometheusMetric{}},
	}
	if change != nil {
		change(m, m.Comparison)
	}
	return m
}

func TestComparisonProblems(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1alpha1.Metric, *v1alpha1.Comparison)
		want   string // empty for none
	}{
		"a good one":    {nil, ""},
		"no comparison": {func(m *v1alpha1.Metric, _ *v1alpha1.Comparison) { m.Comparison = nil }, ""},
		"another provider": {func(m *v1alpha1.Metric, _ *v1alpha1.Comparison) {
			m.Provider = v1alpha1.MetricProvider{Web: &v1alpha1.WebMetric{}}
		}, "needs provider prometheus, and web cannot be queried for series"},
		"a query":               {func(m *v1alpha1.Metric, _ *v1alpha1.Comparison) { m.Provider.Prometheus.Query = "up" }, "remove prometheus.query"},
		"a condition":           {func(m *v1alpha1.Metric, _ *v1alpha1.Comparison) { m.SuccessCondition = "true" }, "judges by its score"},
		"no signals":            {func(_ *v1alpha1.Metric, c *v1alpha1.Comparison) { c.Signals = nil }, "comparison.signals: set signals with the queries"},
		"a signal half written": {func(_ *v1alpha1.Metric, c *v1alpha1.Comparison) { c.Signals[0].Baseline = "" }, `"a" needs the queries canary and baseline`},
		"a tolerance of words":  {func(_ *v1alpha1.Metric, c *v1alpha1.Comparison) { c.Signals[0].Tolerance = "some" }, `tolerance "some" of "a" is neither`},
		"a tolerance of NaN":    {func(_ *v1alpha1.Metric, c *v1alpha1.Comparison) { c.Signals[0].Tolerance = "NaN%" }, `tolerance "NaN%" of "a" is neither`},
		"certainty":             {func(_ *v1alpha1.Metric, c *v1alpha1.Comparison) { c.Confidence = new(intstr.FromInt32(100)) }, `confidence "100" is not a percentage`},
		"less than a coin":      {func(_ *v1alpha1.Metric, c *v1alpha1.Comparison) { c.Confidence = new(intstr.FromString("49.9")) }, `confidence "49.9" is not`},
		"an argument":           {func(_ *v1alpha1.Metric, c *v1alpha1.Comparison) { c.Confidence = new(intstr.FromString("{{args.c}}")) }, ""},
		"no length of time":     {func(_ *v1alpha1.Metric, c *v1alpha1.Comparison) { c.Step = "often" }, `comparison.step "often" is not a length of time`},
		"a step too short":      {func(_ *v1alpha1.Metric, c *v1alpha1.Comparison) { c.Step = "1ms" }, `comparison.step "1ms" is not a length of time of at least 1s`},
		"too many values":       {func(_ *v1alpha1.Metric, c *v1alpha1.Comparison) { c.Window = "24h" }, "has more than 250 steps of 30s: set a shorter window, or a step of 5m47s or more"},
		"too few values":        {func(_ *v1alpha1.Metric, c *v1alpha1.Comparison) { c.Window = "1m" }, "has less than minSamples (10) steps of 30s"},
		"limits the wrong way":  {func(_ *v1alpha1.Metric, c *v1alpha1.Comparison) { c.Marginal = new(int32(80)) }, "marginal 80 is more than pass, which is 75: lower marginal or raise pass"},
		"a low pass alone":      {func(_ *v1alpha1.Metric, c *v1alpha1.Comparison) { c.Pass = new(int32(20)) }, ""},
		"a first measurement without values": {
			func(m *v1alpha1.Metric, _ *v1alpha1.Comparison) { m.InitialDelay = "" },
			"with initialDelay 0s the first measurement has less than comparison.minSamples (10) values of each version: set initialDelay to 4m30s or more, or comparison.beforeRun",
		},
		"... that may look back": {func(m *v1alpha1.Metric, c *v1alpha1.Comparison) { m.InitialDelay, c.BeforeRun = "", true }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(ComparisonProblems(compared(c.change)), "; ")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestScoresOfComparisons(t *testing.T) {
	resolved, _ := ResolveComparison(compared(nil))
	for score, want := range map[float64]v1alpha1.AnalysisPhase{
		100: v1alpha1.AnalysisPhaseSuccessful, 75: v1alpha1.AnalysisPhaseSuccessful, 74.9: v1alpha1.AnalysisPhaseInconclusive,
		50: v1alpha1.AnalysisPhaseInconclusive, 49.9: v1alpha1.AnalysisPhaseFailed, 0: v1alpha1.AnalysisPhaseFailed,
	} {
		if got := resolved.Phase(score); got != want {
			t.Errorf("score %.1f is %s, want %s", score, got, want)
		}
	}
}
