package measure

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/metric"
)

// Next decides what an AnalysisRun does next.
func Next(seen Observed) Plan {
	p := &pass{Observed: seen, was: seen.Run.Status, is: seen.Run.DeepCopy()}
	switch {
	case seen.Run.DeletionTimestamp != nil:
		p.plan.Cancel = seen.Busy
	case ended(p.was.Phase):
		p.plan.Cancel = seen.Busy
		p.expire()
	default:
		p.advance()
	}
	return p.plan
}

// pass is one look at an AnalysisRun.
type pass struct {
	Observed
	// was is the status that was found, is the run as it shall be.
	was  v1alpha1.AnalysisRunStatus
	is   *v1alpha1.AnalysisRun
	plan Plan

	arguments arguments
	metrics   []*state
}

// state is a metric, and what has been measured of it.
type state struct {
	metric *v1alpha1.Metric // as it is written
	limits limits
	dryRun bool
	result *v1alpha1.MetricResult
}

// advance moves a run on that has not ended.
func (p *pass) advance() {
	if p.is.Status.StartedAt == nil {
		p.is.Status.StartedAt = p.moment(p.Now)
	}
	p.arguments = p.resolveArguments()
	problem, incomplete := p.prepare()
	switch {
	case problem != "":
		p.fail(problem)
	case !incomplete:
		incomplete = p.measure()
	}
	if incomplete {
		p.plan = Plan{NeedsArguments: true}
		return
	}
	p.summarise()
	p.record()
	if ended(p.is.Status.Phase) {
		p.expire()
	}
}

// measure takes what came back, and decides what is measured next. It reports that arguments must be looked up first.
func (p *pass) measure() (incomplete bool) {
	p.takeResults()
	p.assess(p.Run.Spec.Terminate)
	terminating := p.terminating()
	if terminating {
		p.endEarly()
		p.assess(true)
	}
	p.retain()
	if p.conclude() || terminating {
		return false
	}
	return p.schedule()
}

// prepare resolves what decides when metrics are measured. It returns what ends the run before anything is measured, or that
// arguments must be looked up first.
func (p *pass) prepare() (problem string, incomplete bool) {
	if broken := p.Run.Unreadable.Of("spec"); len(broken) > 0 {
		return "Analysis spec invalid: " + broken.String(), false
	}
	resolved := *p.Run.Spec.DeepCopy()
	for i := range resolved.Metrics {
		m := &resolved.Metrics[i]
		missing, err := p.arguments.fillLimits(m)
		switch {
		case missing && p.Arguments == nil:
			return "", true
		case err != nil:
			return unresolved(fmt.Sprintf("metric %q: %s", m.Name, err)), false
		}
	}
	if err := p.arguments.problem; err != "" {
		return unresolved(err), false
	}
	problems := slices.Concat(analysis.CheckRun(resolved), p.providerProblems(), conditionProblems(p.Run.Spec.Metrics))
	if len(problems) > 0 {
		return "Analysis spec invalid: " + strings.Join(problems, "; "), false
	}
	for i := range resolved.Metrics {
		m := &p.Run.Spec.Metrics[i]
		p.metrics = append(p.metrics, &state{
			metric: m,
			limits: resolveLimits(&resolved.Metrics[i], p.Run.Spec.MeasurementRetention),
			dryRun: slices.ContainsFunc(p.Run.Spec.DryRun, func(d v1alpha1.DryRun) bool { return fits(d.MetricName, m.Name) }),
			result: p.result(m.Name),
		})
	}
	for _, m := range p.metrics { // results are found by name: those of metrics that are new may have moved the list
		m.result = p.result(m.metric.Name)
		m.result.DryRun = m.dryRun
	}
	return "", false
}

// providerProblems are metrics that ask for a provider which this version does not have.
func (p *pass) providerProblems() []string {
	var all []string
	for i := range p.Run.Spec.Metrics {
		m := &p.Run.Spec.Metrics[i]
		if name := metric.NameOf(m.Provider); name != "" && !slices.Contains(p.Providers, name) {
			all = append(all, fmt.Sprintf("metric %q: provider %q is not part of this version, which has %s: use one of these",
				m.Name, name, strings.Join(p.Providers, ", ")))
		}
	}
	return all
}

func unresolved(text string) string { return "Unable to resolve metric arguments: " + text }

// result is the place in the status for a metric.
func (p *pass) result(name string) *v1alpha1.MetricResult {
	results := &p.is.Status.MetricResults
	i := slices.IndexFunc(*results, func(r v1alpha1.MetricResult) bool { return r.Name == name })
	if i < 0 {
		i = len(*results)
		*results = append(*results, v1alpha1.MetricResult{Name: name, Phase: v1alpha1.AnalysisPhasePending})
	}
	return &(*results)[i]
}

func (p *pass) busy(m *state) bool { return slices.Contains(p.Busy, m.metric.Name) }

// record updates the status if it has changed, and reports what has ended.
func (p *pass) record() {
	if equality.Semantic.DeepEqual(p.was, p.is.Status) && len(p.Run.Unreadable.Of("status")) == 0 {
		return
	}
	p.plan.Record = &Record{From: p.Run, To: p.is}
	for i := range p.is.Status.MetricResults {
		r := &p.is.Status.MetricResults[i]
		if ended(r.Phase) && !ended(p.phaseBefore(r.Name)) {
			p.event(r.Phase, v1alpha1.EventMetricPrefix, fmt.Sprintf("Metric '%s' Completed. Result: %s", r.Name, r.Phase))
			p.note("metric "+r.Name+" is "+string(r.Phase), r.Message)
		}
	}
	if phase := p.is.Status.Phase; ended(phase) {
		p.event(phase, v1alpha1.EventAnalysisRunPrefix, fmt.Sprintf("Analysis Completed. Result: %s", phase))
		p.note("the analysis is "+string(phase), p.is.Status.Message)
	}
}

func (p *pass) phaseBefore(name string) v1alpha1.AnalysisPhase {
	for i := range p.was.MetricResults {
		if p.was.MetricResults[i].Name == name {
			return p.was.MetricResults[i].Phase
		}
	}
	return ""
}

func (p *pass) event(phase v1alpha1.AnalysisPhase, prefix, message string) {
	p.plan.Report(phase == v1alpha1.AnalysisPhaseFailed || phase == v1alpha1.AnalysisPhaseError, prefix+string(phase), "%s", message)
}

func (p *pass) note(text, reason string) { p.plan.Note(change.TopicJudge, text, reason) }

// moment is a time as the API keeps it: in whole seconds.
func (p *pass) moment(t time.Time) *metav1.Time { return new(metav1.NewTime(t.Truncate(time.Second))) }

// severity orders phases from the best to the worst, for the verdict of a run.
var severity = []v1alpha1.AnalysisPhase{
	"", v1alpha1.AnalysisPhaseSuccessful, v1alpha1.AnalysisPhaseRunning, v1alpha1.AnalysisPhasePending,
	v1alpha1.AnalysisPhaseInconclusive, v1alpha1.AnalysisPhaseError, v1alpha1.AnalysisPhaseFailed,
}

func worse(a, b v1alpha1.AnalysisPhase) bool {
	return cmp.Compare(slices.Index(severity, a), slices.Index(severity, b)) > 0
}

func bad(phase v1alpha1.AnalysisPhase) bool { return worse(phase, v1alpha1.AnalysisPhasePending) }

func ended(phase v1alpha1.AnalysisPhase) bool {
	return phase == v1alpha1.AnalysisPhaseSuccessful || bad(phase)
}
