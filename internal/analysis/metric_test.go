package analysis

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

func TestMetricsThatCannotBeMeasured(t *testing.T) {
	number := func(text string) *intstr.IntOrString { return new(intstr.Parse(text)) }
	for name, c := range map[string]struct {
		change  func(*v1alpha1.Metric)
		endless bool
		want    string
	}{
		"one measurement":              {change: func(*v1alpha1.Metric) {}},
		"no provider":                  {change: func(m *v1alpha1.Metric) { m.Provider.Web = nil }, want: "it has 0 providers: set exactly one"},
		"two providers":                {change: func(m *v1alpha1.Metric) { m.Provider.Job = &v1alpha1.JobMetric{} }, want: "it has 2 providers: set exactly one"},
		"an interval of words":         {change: func(m *v1alpha1.Metric) { m.Interval, m.Count = "soon", number("2") }, want: `interval "soon" is not a duration: write for example "30s" or "5m"`},
		"an interval from an argument": {change: func(m *v1alpha1.Metric) { m.Interval, m.Count = "{{args.i}}", number("2") }},
		"a negative delay":             {change: func(m *v1alpha1.Metric) { m.InitialDelay = "-1s" }, want: `initialDelay "-1s" is not a duration: write for example "30s" or "5m"`},
		"many without an interval":     {change: func(m *v1alpha1.Metric) { m.Count = number("3") }, want: "interval is required when count is more than 1, and count is 3: set it to the time between two measurements, such as 30s"},
		"one without an interval":      {change: func(m *v1alpha1.Metric) { m.Count = number("1") }},
		"a count beyond all numbers":   {change: func(m *v1alpha1.Metric) { m.Count = number("99999999999999999999") }, want: `count "99999999999999999999" is not a number: write one such as 3`},
		"limits that count just reaches": {change: func(m *v1alpha1.Metric) {
			m.Interval, m.Count, m.FailureLimit, m.ConsecutiveSuccessLimit, m.InconclusiveLimit = "1s", number("4"), number("2"), number("2"), number("4")
		}},
		"a count of words":               {change: func(m *v1alpha1.Metric) { m.Count = number("many") }, want: `count "many" is not a number: write one such as 3`},
		"a count from an argument":       {change: func(m *v1alpha1.Metric) { m.Interval, m.Count = "1s", number("{{args.n}}") }},
		"no end":                         {change: func(m *v1alpha1.Metric) { m.Interval = "1s" }, want: "it runs indefinitely, and this analysis must come to an end: set count"},
		"no end in the background":       {change: func(m *v1alpha1.Metric) { m.Interval = "1s" }, endless: true},
		"an end when enough have passed": {change: func(m *v1alpha1.Metric) { m.Interval, m.ConsecutiveSuccessLimit = "1s", number("3") }},
		"limits that count cannot reach": {change: func(m *v1alpha1.Metric) {
			m.Interval, m.Count, m.FailureLimit, m.ConsecutiveSuccessLimit = "1s", number("3"), number("2"), number("2")
		}, want: "count 3 must be at least failureLimit plus consecutiveSuccessLimit, which is 4: raise count or lower a limit"},
		"successes that count cannot reach": {change: func(m *v1alpha1.Metric) {
			m.Interval, m.Count, m.FailureLimit, m.ConsecutiveSuccessLimit = "1s", number("3"), number("-1"), number("4")
		}, want: "count 3 must be at least failureLimit plus consecutiveSuccessLimit, which is 4: raise count or lower a limit"},
		"a limit of inconclusive ones": {change: func(m *v1alpha1.Metric) { m.Interval, m.Count, m.InconclusiveLimit = "1s", number("3"), number("4") }, want: "count 3 must be at least inconclusiveLimit, which is 4: raise count or lower the limit"},
		"no failure counts":            {change: func(m *v1alpha1.Metric) { m.FailureLimit = number("-1") }, want: "failureLimit -1 needs consecutiveSuccessLimit of at least 1, or nothing could fail the metric"},
		"no failure counts, successes by an argument": {change: func(m *v1alpha1.Metric) {
			m.Interval, m.Count, m.FailureLimit, m.ConsecutiveSuccessLimit = "1s", number("3"), number("-1"), number("{{args.n}}")
		}},
		"no failure counts, successes do": {change: func(m *v1alpha1.Metric) {
			m.Interval, m.Count, m.FailureLimit, m.ConsecutiveSuccessLimit = "1s", number("3"), number("-1"), number("3")
		}},
		"fewer errors than none":  {change: func(m *v1alpha1.Metric) { m.ConsecutiveErrorLimit = number("-1") }, want: "consecutiveErrorLimit -1 is too low: write 0 or more"},
		"a count below none":      {change: func(m *v1alpha1.Metric) { m.Count = number("-1") }, want: "count -1 is too low: write 0 or more"},
		"fewer successes":         {change: func(m *v1alpha1.Metric) { m.Interval, m.ConsecutiveSuccessLimit = "1s", number("-1") }, endless: true, want: "consecutiveSuccessLimit -1 is too low: write 0 or more"},
		"fewer inconclusive ones": {change: func(m *v1alpha1.Metric) { m.InconclusiveLimit = number("-1") }, want: "inconclusiveLimit -1 is too low: write 0 or more"},
		"a failureLimit below -1": {change: func(m *v1alpha1.Metric) { m.FailureLimit = number("-2") }, want: "failureLimit -2 is too low: write -1 or more"},
	} {
		t.Run(name, func(t *testing.T) {
			metric := metrics("a")[0]
			c.change(&metric)
			if diff := cmp.Diff(c.want, strings.Join(metricProblems(&metric, c.endless), "; ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMetricsPickedByName(t *testing.T) {
	retention := func(name string) []v1alpha1.MeasurementRetention {
		return []v1alpha1.MeasurementRetention{{MetricName: name, Limit: 1}}
	}
	for name, c := range map[string]struct {
		analysis v1alpha1.RolloutAnalysis
		template tmpl
		want     []string
	}{
		"part of a name": {v1alpha1.RolloutAnalysis{DryRun: []v1alpha1.DryRun{{MetricName: "err"}}}, tmpl{}, nil},
		"all":            {v1alpha1.RolloutAnalysis{MeasurementRetention: retention(".*")}, tmpl{}, nil},
		"not a pattern":  {v1alpha1.RolloutAnalysis{DryRun: []v1alpha1.DryRun{{MetricName: "*"}}}, tmpl{}, []string{"f.dryRun: metricName \"*\" is not a valid regular expression (error parsing regexp: missing argument to repetition operator: `*`): write \".*\" for all metrics"}},
		"none":           {v1alpha1.RolloutAnalysis{DryRun: []v1alpha1.DryRun{{MetricName: "latency"}}}, tmpl{}, []string{`f.dryRun: metricName "latency" fits no metric of the templates: correct or remove it`}},
		"here and in the template": {
			v1alpha1.RolloutAnalysis{MeasurementRetention: retention("errors")},
			tmpl{MeasurementRetention: retention("errors")},
			[]string{`f.measurementRetention: metricName "errors" is there twice, here or in the templates: take one out`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.analysis.Templates = []ref{smoke}
			c.template.Metrics = metrics("errors")
			if diff := cmp.Diff(c.want, run(c.analysis, Templates{smoke: &c.template}).Problems); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFields(t *testing.T) {
	ro := rollout()
	replicas := int32(1000000)
	ro.Spec.Replicas = &replicas
	ro.Spec.Template.Labels = map[string]string{"app.kubernetes.io/name": "web"}
	ro.Spec.Template.Spec.Containers = []corev1.Container{{Name: "app", Image: "web:1"}}
	for path, want := range map[string]string{
		"metadata.name":                          "web",
		"metadata.namespace":                     "shop",
		"metadata.uid":                           "u",
		"metadata.labels":                        "a.b/c=\"x\"\nregion=\"north\"",
		"metadata.labels['a.b/c']":               "x",
		`metadata.labels["region"]`:              "north",
		"metadata.annotations['no']":             "",
		"metadata.generation":                    "error: write metadata.name, metadata.namespace, metadata.uid, metadata.labels['<key>'] or metadata.annotations['<key>']",
		"spec.replicas":                          "1000000",
		"spec.template.spec.containers[0].image": "web:1",
		"spec.template.metadata.labels['app.kubernetes.io/name']": "web",
		"spec.template.metadata.labels":                           `{"app.kubernetes.io/name":"web"}`,
		"spec.template.spec.containers[1].image":                  `error: "1" is not an index of a list of 1`,
		"spec.template.spec.containers[x].image":                  `error: "x" is not an index of a list of 1`,
		"spec.nothing":                                            `error: the Rollout has no "nothing" there`,
		"spec.replicas.more":                                      `error: there is nothing below 1000000, and so no "more"`,
		"spec..replicas":                                          "error: write names with dots between them and list indexes in brackets, such as spec.template.spec.containers[0].image",
		"spec.":                                                   "error: write names with dots between them and list indexes in brackets, such as spec.template.spec.containers[0].image",
		"spec.template.spec.containers[0":                         "error: write names with dots between them and list indexes in brackets, such as spec.template.spec.containers[0].image",
		"":                                                        "error: write names with dots between them and list indexes in brackets, such as spec.template.spec.containers[0].image",
	} {
		got, err := Field(ro, path)
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
