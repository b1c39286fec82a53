package measure_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis/measure"
	"github.com/sluice-delivery/sluice/internal/clean"
	"github.com/sluice-delivery/sluice/internal/metric"
)

// begun is a run that has been recorded once and measures, with the task of its first measurement.
func begun(t *testing.T) (measure.Observed, measure.Task) {
	t.Helper()
	run := &v1alpha1.AnalysisRun{}
	run.Spec.Metrics = []v1alpha1.Metric{{
		Name: "a", Interval: "10s", Count: new(intstr.FromInt32(5)), Provider: v1alpha1.MetricProvider{Web: &v1alpha1.WebMetric{URL: "http://test"}},
	}}
	seen := measure.Observed{Now: zero, Run: run, Providers: []string{"web"}}
	p := measure.Next(seen)
	if p.Record == nil || len(p.Measure) != 1 {
		t.Fatalf("the first pass: %+v", p)
	}
	seen.Run = p.Record.To
	return seen, p.Measure[0]
}

func result(task measure.Task) measure.Result {
	return measure.Judge(context.Background(), measure.Result{Task: task, StartedAt: zero, FinishedAt: zero, Reading: metric.Reading{Value: 1, Text: "1"}})
}

// TestResultsCountOnce gives the engine a result again that the status has already: the write was made, and its answer was lost.
func TestResultsCountOnce(t *testing.T) {
	seen, task := begun(t)
	seen.Results = []measure.Result{result(task)}
	p := measure.Next(seen)
	if p.Record == nil || p.Record.To.Status.MetricResults[0].Count != 1 {
		t.Fatalf("the measurement was not recorded: %+v", p)
	}
	seen.Run = p.Record.To
	if again := measure.Next(seen); again.Record != nil {
		t.Errorf("it was recorded again: %s", cmp.Diff(p.Record.To.Status, again.Record.To.Status))
	}
}

// TestAnUnreadableSpecMeasuresNothing: one field that cannot be read is enough, since nobody knows what it asked for.
func TestAnUnreadableSpecMeasuresNothing(t *testing.T) {
	seen, _ := begun(t)
	seen.Run = seen.Run.DeepCopy()
	seen.Run.Unreadable = v1alpha1.Unreadable{{Path: "spec.metrics[0].count", Text: "5 parsecs is not a number"}}
	p := measure.Next(seen)
	if p.Record == nil || len(p.Measure) > 0 {
		t.Fatalf("it goes on: %+v", p)
	}
	s := p.Record.To.Status
	if want := "Analysis spec invalid: spec.metrics[0].count: 5 parsecs is not a number"; s.Phase != v1alpha1.AnalysisPhaseError || s.Message != want {
		t.Errorf("it is %s: %q, want %q", s.Phase, s.Message, want)
	}
}

// A run is kept for good where what its ttlStrategy says cannot be read as a whole.
func TestAnUnreadableTTLDeletesNothing(t *testing.T) {
	seen, _ := begun(t)
	seen.Run = seen.Run.DeepCopy()
	seen.Run.Spec.TTLStrategy = &v1alpha1.TTLStrategy{SecondsAfterCompletion: new(int32(5))}
	seen.Run.Spec.Terminate = true
	seen.Run = measure.Next(seen).Record.To
	seen.Now = zero.Add(time.Minute)
	if p := measure.Next(seen); p.Delete == "" {
		t.Fatalf("it is kept although its time is over: %+v", p)
	}
	seen.Run.Unreadable = v1alpha1.Unreadable{{Path: "spec.ttlStrategy.secondsAfterFailure", Text: "soon is not a number"}}
	if p := measure.Next(seen); p.Delete != "" {
		t.Errorf("it is deleted, although nobody knows when it should be: %s", p.Delete)
	}
}

// TestASettledRunIsNotWritten: nothing came back, nothing is due.
func TestASettledRunIsNotWritten(t *testing.T) {
	seen, _ := begun(t)
	seen.Busy = []string{"a"}
	if p := measure.Next(seen); !cmp.Equal(p, measure.Plan{}) {
		t.Errorf("a plan for a run that waits for a measurement: %+v", p)
	}
	seen.Busy = nil
	seen.Results = []measure.Result{result(metricTask(seen))}
	seen.Run = measure.Next(seen).Record.To
	seen.Results, seen.Now = nil, zero.Add(5*time.Second)
	p := measure.Next(seen)
	if p.Record != nil || len(p.Measure) > 0 || !p.Wake.Equal(zero.Add(10*time.Second)) {
		t.Errorf("a plan between two measurements: %+v", p)
	}
}

// A run that is being deleted is left as it is: nothing more is measured, and what is being measured ends.
func TestARunThatGoesIsLeftAlone(t *testing.T) {
	seen, _ := begun(t)
	seen.Run = seen.Run.DeepCopy()
	seen.Run.DeletionTimestamp, seen.Busy = &metav1.Time{Time: zero}, []string{"a"}
	if p := measure.Next(seen); !cmp.Equal(p, measure.Plan{Cancel: seen.Busy}) {
		t.Errorf("a plan for a run that is being deleted: %+v", p)
	}
}

// A controller that ran this before may have left resumeAt on a measurement that has ended: the interval counts from its end all the same.
func TestTheIntervalCountsFromTheEnd(t *testing.T) {
	seen, task := begun(t)
	seen.Results = []measure.Result{result(task)}
	seen.Run = measure.Next(seen).Record.To
	seen.Run.Status.MetricResults[0].Measurements[0].ResumeAt = &metav1.Time{Time: zero}
	seen.Results, seen.Now = nil, zero.Add(5*time.Second)
	if p := measure.Next(seen); len(p.Measure) > 0 || !p.Wake.Equal(zero.Add(10*time.Second)) {
		t.Errorf("measured at %s, want %s: %+v", p.Wake, zero.Add(10*time.Second), p)
	}
}

func metricTask(seen measure.Observed) measure.Task { return measure.Next(seen).Measure[0] }

// TestResultsOfTwoMeasurements come back together where the first could not be recorded at once.
func TestResultsOfTwoMeasurements(t *testing.T) {
	seen, first := begun(t)
	second := first
	second.Number = 2
	seen.Results = []measure.Result{result(first), result(second), result(second)}
	p := measure.Next(seen)
	if r := p.Record.To.Status.MetricResults[0]; r.Count != 2 || len(r.Measurements) != 2 {
		t.Errorf("%+v, want two measurements", r)
	}
}

func TestSecretsAreHidden(t *testing.T) {
	for name, c := range map[string]struct {
		secrets measure.Secrets
		text    string
	}{
		"as it is":                   {measure.Secrets{"s3cret"}, "token s3cret!"},
		"in JSON":                    {measure.Secrets{`a"b<c`}, `{"token": "a\"b\u003cc"}`},
		"in quotes":                  {measure.Secrets{"a\tb"}, `"a\tb"`},
		"in a query":                 {measure.Secrets{"a b/c"}, "http://x/?t=a+b%2Fc"},
		"in a path":                  {measure.Secrets{"a b/c"}, "http://x/a%20b%2Fc"},
		"without the end of a line":  {measure.Secrets{"s3cret\n"}, "token s3cret!"},
		"on one line":                {measure.Secrets{"a\n  b"}, "token a b!"},
		"one that is part of others": {measure.Secrets{"key", "key-2"}, "key-2"},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.secrets.Hide(c.text)
			for _, secret := range c.secrets {
				if c.secrets.Hide(got) != got || got == c.text {
					t.Errorf("%q still shows %q", got, secret)
				}
			}
		})
	}
	if got := (measure.Secrets{""}).Hide("abc"); got != "abc" {
		t.Errorf("an empty secret made %q", got)
	}
	if got := (measure.Secrets{"key", "key-2"}).Hide("key-2"); got != "*****" {
		t.Errorf("%q, want the longest hidden as a whole", got)
	}
}

// What a metric server answers, or a user writes into a status, is escaped in the status.
func TestStatusesSteerNoTerminal(t *testing.T) {
	const hostile = "\x1b[2J\u202e500"
	run := &v1alpha1.AnalysisRun{}
	run.Spec.Metrics = []v1alpha1.Metric{{Name: "m", ConsecutiveErrorLimit: new(intstr.FromInt32(0)), Provider: v1alpha1.MetricProvider{Web: &v1alpha1.WebMetric{URL: "http://test"}}}}
	seen := measure.Observed{Now: zero, Run: run, Providers: []string{"web"}}
	first := measure.Next(seen)
	result := measure.Result{Task: first.Measure[0], StartedAt: zero, FinishedAt: zero, Err: "the server says " + hostile}
	result.Reading.Text, result.Reading.Metadata = hostile, map[string]string{"about": hostile}
	if first.Record != nil {
		seen.Run = first.Record.To
	}
	seen.Results = []measure.Result{result}
	next := measure.Next(seen)
	s := next.Record.To.Status
	measured := s.MetricResults[0].Measurements[0]
	texts := []string{s.Message, s.MetricResults[0].Message, measured.Message, measured.Value, measured.Metadata["about"]}
	for _, text := range texts {
		if strings.ContainsFunc(text, clean.IsHidden) || !strings.Contains(text, `\u001b[2J\u202e500`) {
			t.Errorf("the status says %q", text)
		}
	}
}

// TestAStatusFitsIntoStorage keeps as many measurements as the API allows, each as long as there are, of as many metrics.
func TestAStatusFitsIntoStorage(t *testing.T) {
	const metrics, storage = 100, 1 << 20
	run := &v1alpha1.AnalysisRun{}
	run.Spec.MeasurementRetention = []v1alpha1.MeasurementRetention{{MetricName: ".*", Limit: 1 << 30}}
	for i := range metrics {
		run.Spec.Metrics = append(run.Spec.Metrics, v1alpha1.Metric{
			Name: fmt.Sprint("metric-", i), Interval: "1s", Provider: v1alpha1.MetricProvider{Web: &v1alpha1.WebMetric{URL: "http://test"}},
		})
	}
	seen := measure.Observed{Now: zero, Run: run, Providers: []string{"web"}}
	largest := 0
	for range 30 {
		p := measure.Next(seen)
		if p.Record != nil {
			seen.Run = p.Record.To
		}
		text, err := json.Marshal(seen.Run)
		if err != nil {
			t.Fatal(err)
		}
		largest = max(largest, len(text))
		seen.Results = nil
		for _, task := range p.Measure {
			r := result(task)
			r.StartedAt, r.FinishedAt = seen.Now, seen.Now
			r.Reading.Text = strings.Repeat("x", 1<<20)
			r.Reading.Metadata = map[string]string{"warnings": strings.Repeat("y", 1<<20)}
			seen.Results = append(seen.Results, r)
		}
		seen.Now = seen.Now.Add(time.Second)
	}
	if largest > storage {
		t.Errorf("the run takes up to %d bytes, want %d at most", largest, storage)
	}
	for _, r := range seen.Run.Status.MetricResults {
		if len(r.Measurements) < 2 || r.Count < 20 {
			t.Fatalf("%s keeps %d of %d measurements, want 2 or more of 20", r.Name, len(r.Measurements), r.Count)
		}
	}
}

// TestArgumentsDoNotGrowWithoutBound: a long argument that is used often would fill the memory.
func TestArgumentsDoNotGrowWithoutBound(t *testing.T) {
	run := &v1alpha1.AnalysisRun{}
	run.Spec.Args = []v1alpha1.Argument{{Name: "a", Value: new(strings.Repeat("x", 100_000))}}
	run.Spec.Metrics = []v1alpha1.Metric{{
		Name: "m", Provider: v1alpha1.MetricProvider{Web: &v1alpha1.WebMetric{URL: "http://test", Body: strings.Repeat("{{args.a}}", 10_000)}},
	}}
	p := measure.Next(measure.Observed{Now: zero, Run: run, Providers: []string{"web"}})
	if p.Record == nil || len(p.Measure) > 0 {
		t.Fatalf("%+v, want it refused", p)
	}
	status := p.Record.To.Status
	if want := "with its arguments filled in it is longer than 1048576 bytes"; status.Phase != v1alpha1.AnalysisPhaseError || !strings.Contains(status.Message, want) {
		t.Errorf("%s: %.200s, want %s", status.Phase, status.Message, want)
	}
}

// TestPatternsOfNamesAreBounded: which metrics are a dry run is asked in every pass.
func TestPatternsOfNamesAreBounded(t *testing.T) {
	run := &v1alpha1.AnalysisRun{}
	run.Spec.DryRun = []v1alpha1.DryRun{{MetricName: "((x?){1000}){1000}"}}
	run.Spec.Metrics = []v1alpha1.Metric{{Name: "x", Provider: v1alpha1.MetricProvider{Web: &v1alpha1.WebMetric{URL: "http://test"}}}}
	p := measure.Next(measure.Observed{Now: zero, Run: run, Providers: []string{"web"}})
	if want := "1000"; p.Record == nil || !strings.Contains(p.Record.To.Status.Message, want) {
		t.Errorf("%+v, want it refused", p)
	}
}

// The name of a metric is the one that the status has, with placeholders too: what else would its result be found by?
func TestNamesStayAsTheyAre(t *testing.T) {
	run := &v1alpha1.AnalysisRun{}
	run.Spec.Args = []v1alpha1.Argument{{Name: "service", Value: new("shop")}}
	run.Spec.Metrics = []v1alpha1.Metric{{Name: "errors of {{args.service}}", Provider: v1alpha1.MetricProvider{Web: &v1alpha1.WebMetric{URL: "http://{{args.service}}"}}}}
	p := measure.Next(measure.Observed{Now: zero, Run: run, Providers: []string{"web"}})
	if len(p.Measure) != 1 {
		t.Fatalf("there is no measurement: %+v", p)
	}
	if m := p.Measure[0].Metric; m.Name != "errors of {{args.service}}" || m.Provider.Web.URL != "http://shop" {
		t.Errorf("measured is %q at %s", m.Name, m.Provider.Web.URL)
	}
}

// A measurement that is under way when its metric becomes unreadable is stopped, and the metric ends without a verdict.
func TestAnUnreadableSpecStopsWhatIsUnderWay(t *testing.T) {
	seen, task := begun(t)
	running := measure.Result{Task: task, StartedAt: zero, Reading: metric.Reading{Phase: v1alpha1.AnalysisPhaseRunning, ResumeAt: zero.Add(time.Minute)}}
	seen.Results = []measure.Result{running}
	p := measure.Next(seen)
	if p.Record == nil || p.Record.To.Status.MetricResults[0].Phase != v1alpha1.AnalysisPhaseRunning {
		t.Fatalf("nothing is under way, and the test shows nothing: %+v", p.Record)
	}
	seen.Run, seen.Results = p.Record.To.DeepCopy(), nil
	seen.Run.Spec.Metrics[0].Interval = "soon"
	p = measure.Next(seen)
	if len(p.Stop) != 1 || p.Record == nil {
		t.Fatalf("it is not stopped: %+v", p)
	}
	if r := p.Record.To.Status.MetricResults[0]; r.Phase != v1alpha1.AnalysisPhaseInconclusive {
		t.Errorf("the metric is %s, want Inconclusive", r.Phase)
	}
}
