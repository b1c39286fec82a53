package explore

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/sim"
)

// analysisPass is called for each reconcile of an AnalysisRun.
func (r *experimentRules) analysisPass(p sim.AnalysisPass) {
	run := p.Observed.Run
	var notes []change.Note
	for _, n := range p.Plan.Notes {
		notes = append(notes, change.Note{Topic: change.TopicJudge, Text: n.Text, Reason: n.Reason})
	}
	r.count(run.Name, p.Outcome, notes)
	for _, task := range p.Plan.Measure {
		if slices.Contains(p.Observed.Busy, task.Metric.Name) {
			r.fail("measure", "%s is measured while it is being measured", task.Metric.Name)
		}
	}
	if p.Plan.Record == nil || !p.Whole() {
		return
	}
	to := p.Plan.Record.To
	for i := range to.Spec.Metrics {
		r.metric(run, to, &to.Spec.Metrics[i])
	}
}

// metric checks that a metric is measured as often as it is to be, and judged by its limits.
func (r *experimentRules) metric(from, to *v1alpha1.AnalysisRun, m *v1alpha1.Metric) {
	limit := func(v *intstr.IntOrString) int {
		if v == nil {
			return 0
		}
		return v.IntValue()
	}
	was, is := resultOf(from, m.Name), resultOf(to, m.Name)
	if is == nil {
		return
	}
	count, failures := limit(m.Count), limit(m.FailureLimit)
	if count == 0 && m.Interval == "" {
		count = 1
	}
	if count > 0 && int(is.Count) > count {
		r.fail("measure", "%s of %s is measured %d times, not %d", m.Name, to.Name, is.Count, count)
	}
	if int(is.Failed) > failures && is.Phase == v1alpha1.AnalysisPhaseSuccessful {
		r.fail("verdict", "%s of %s is Successful with %d failures", m.Name, to.Name, is.Failed)
	}
	if is.Phase == v1alpha1.AnalysisPhaseSuccessful && !to.Spec.Terminate && !bad(to.Status.Phase) && count > 0 && int(is.Count) < count && m.ConsecutiveSuccessLimit == nil {
		r.fail("verdict", "%s of %s is Successful after %d of %d measurements", m.Name, to.Name, is.Count, count)
	}
	if was == nil || len(was.Measurements) == 0 || is.Count+is.Error == was.Count+was.Error || m.Interval == "" || was.ConsecutiveError > 0 {
		return
	}
	interval, err := time.ParseDuration(string(m.Interval))
	last, next := was.Measurements[len(was.Measurements)-1], is.Measurements[len(is.Measurements)-1]
	if err == nil && last.FinishedAt != nil && next.StartedAt != nil && next.StartedAt.Sub(last.FinishedAt.Time) < interval {
		r.fail("measure", "%s of %s is measured %s after the last time, not %s", m.Name, to.Name, next.StartedAt.Sub(last.FinishedAt.Time), interval)
	}
}

func resultOf(run *v1alpha1.AnalysisRun, metric string) *v1alpha1.MetricResult {
	for i := range run.Status.MetricResults {
		if run.Status.MetricResults[i].Name == metric {
			return &run.Status.MetricResults[i]
		}
	}
	return nil
}
