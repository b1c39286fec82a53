package telemetry

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// valuesOf collects the values of runs, as the controller's collector does.
type valuesOf struct {
	runs []v1alpha1.AnalysisRun
	now  time.Time
}

func (valuesOf) Describe(out chan<- *prometheus.Desc) { out <- metricValue }

func (v valuesOf) Collect(out chan<- prometheus.Metric) { collectValues(out, v.runs, v.now) }

func TestValuesOfMeasurements(t *testing.T) {
	now := time.Unix(10_000, 0)
	ago := func(d time.Duration) *metav1.Time { return new(metav1.NewTime(now.Add(-d))) }
	run := func(owner string, phase v1alpha1.AnalysisPhase, ended *metav1.Time, measurements ...v1alpha1.Measurement) v1alpha1.AnalysisRun {
		r := v1alpha1.AnalysisRun{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: owner + "-6d9f7c5b8d-2"}}
		if owner != "" {
			r.OwnerReferences = []metav1.OwnerReference{{Kind: "Rollout", Name: owner, Controller: new(true)}}
		}
		r.Status = v1alpha1.AnalysisRunStatus{Phase: phase, CompletedAt: ended, MetricResults: []v1alpha1.MetricResult{{Name: "errors", Measurements: measurements}}}
		return r
	}
	value := func(text string, at *metav1.Time) v1alpha1.Measurement {
		return v1alpha1.Measurement{Value: text, FinishedAt: at}
	}
	const running, failed = v1alpha1.AnalysisPhaseRunning, v1alpha1.AnalysisPhaseFailed
	for name, c := range map[string]struct {
		runs []v1alpha1.AnalysisRun
		want string
	}{
		"the last value counts, also behind an error": {
			[]v1alpha1.AnalysisRun{run("web", running, nil, value("1", ago(time.Minute)), value("2.5", ago(time.Second)), v1alpha1.Measurement{FinishedAt: ago(0)})},
			`{metric="errors",namespace="shop",owner="web",owner_kind="Rollout"} 2.5`,
		},
		"a list of one number is that number": {
			[]v1alpha1.AnalysisRun{run("web", running, nil, value("[0.02]", ago(0)))}, `{metric="errors",namespace="shop",owner="web",owner_kind="Rollout"} 0.02`,
		},
		"not a number is one too":        {[]v1alpha1.AnalysisRun{run("", running, nil, value("NaN", ago(0)))}, `{metric="errors",namespace="shop",owner="",owner_kind=""} NaN`},
		"several numbers are none":       {[]v1alpha1.AnalysisRun{run("web", running, nil, value("[1,2]", ago(0)))}, ""},
		"text is none":                   {[]v1alpha1.AnalysisRun{run("web", running, nil, value(`{"rate":1}`, ago(0)))}, ""},
		"before the first value":         {[]v1alpha1.AnalysisRun{run("web", running, nil, v1alpha1.Measurement{StartedAt: ago(0)})}, ""},
		"a run that ended just now":      {[]v1alpha1.AnalysisRun{run("web", failed, ago(lingering), value("1", ago(lingering)))}, `{metric="errors",namespace="shop",owner="web",owner_kind="Rollout"} 1`},
		"a run that ended long ago":      {[]v1alpha1.AnalysisRun{run("web", failed, ago(lingering+time.Second), value("1", ago(time.Hour)))}, ""},
		"a run that ended some time ago": {[]v1alpha1.AnalysisRun{run("web", failed, nil, value("1", ago(0)))}, ""},
		"two runs of one Rollout: the later measurement": {
			[]v1alpha1.AnalysisRun{run("web", running, nil, value("1", ago(time.Second))), run("web", running, nil, value("2", ago(time.Minute)))},
			`{metric="errors",namespace="shop",owner="web",owner_kind="Rollout"} 1`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := ""
			if c.want != "" {
				want = "# HELP sluice_analysis_metric_value The last measurement of a metric of an AnalysisRun, if it is one number.\n" +
					"# TYPE sluice_analysis_metric_value gauge\nsluice_analysis_metric_value" + c.want + "\n"
			}
			if err := testutil.CollectAndCompare(valuesOf{c.runs, now}, strings.NewReader(want)); err != nil {
				t.Error(err)
			}
		})
	}
	var many []v1alpha1.AnalysisRun
	for i := range mostValues + 100 {
		many = append(many, run(fmt.Sprint("web-", i), running, nil, value("1", ago(0))))
	}
	many = append(many, run("api", running, nil, value("1", ago(0))))
	many[len(many)-1].Namespace = "another"
	if n := testutil.CollectAndCount(valuesOf{many, now}); n != mostValues+1 {
		t.Errorf("%d series of two namespaces, want %d: the bound of one, and the other's own", n, mostValues+1)
	}
}
