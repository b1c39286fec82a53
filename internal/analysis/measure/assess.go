package measure

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/clean"
)

// assess says of each metric how it is doing.
func (p *pass) assess(terminating bool) {
	for _, m := range p.metrics {
		if ended(m.result.Phase) {
			continue
		}
		phase, reason := m.assess(terminating && !p.busy(m))
		m.result.Phase = phase
		if reason == "" {
			continue
		}
		m.result.Message = fmt.Sprintf("Metric assessed %s due to %s", phase, reason)
		if last := m.last(); last != nil && last.Message != "" {
			m.result.Message += fmt.Sprintf(`: "Error Message: %s"`, clean.Text(last.Message))
		}
	}
}

// assess is how a metric is doing that has not ended, with the reason if it is a bad one. Of several limits that were passed the last
// one counts.
func (m *state) assess(terminating bool) (phase v1alpha1.AnalysisPhase, reason string) {
	switch {
	case m.running() != nil:
		return v1alpha1.AnalysisPhaseRunning, ""
	case m.made() > 0:
		return m.assessLimits(terminating)
	case !terminating:
		return v1alpha1.AnalysisPhasePending, ""
	case m.last() != nil: // it was stopped
		return v1alpha1.AnalysisPhaseInconclusive, ""
	}
	return v1alpha1.AnalysisPhaseSuccessful, ""
}

// assessLimits holds what was measured against the limits.
func (m *state) assessLimits(terminating bool) (phase v1alpha1.AnalysisPhase, reason string) {
	r, l := m.result, m.limits
	reached := l.count > 0 && r.Count >= l.count
	switch {
	case r.ConsecutiveError > l.errors:
		return v1alpha1.AnalysisPhaseError, fmt.Sprintf("consecutiveErrors (%d) > consecutiveErrorLimit (%d)", r.ConsecutiveError, l.errors)
	case r.Inconclusive > l.inconclusive:
		return v1alpha1.AnalysisPhaseInconclusive, fmt.Sprintf("inconclusive (%d) > inconclusiveLimit (%d)", r.Inconclusive, l.inconclusive)
	case l.failures >= 0 && r.Failed > l.failures:
		return v1alpha1.AnalysisPhaseFailed, fmt.Sprintf("failed (%d) > failureLimit (%d)", r.Failed, l.failures)
	case l.successes > 0 && r.ConsecutiveSuccess >= l.successes:
		return v1alpha1.AnalysisPhaseSuccessful, ""
	case reached && l.successes > 0:
		reason := fmt.Sprintf("consecutiveSuccess (%d) < consecutiveSuccessLimit (%d) when count (%d) was reached", r.ConsecutiveSuccess, l.successes, l.count)
		if l.failures >= 0 {
			return v1alpha1.AnalysisPhaseInconclusive, reason
		}
		return v1alpha1.AnalysisPhaseFailed, reason
	case reached, terminating && r.Count > 0:
		return v1alpha1.AnalysisPhaseSuccessful, ""
	case terminating:
		return v1alpha1.AnalysisPhaseInconclusive, fmt.Sprintf("no measurement was completed: errors (%d)", r.Error)
	}
	return v1alpha1.AnalysisPhaseRunning, ""
}

// terminating reports whether nothing more is to be measured: because someone says so, or because the verdict is certain.
func (p *pass) terminating() bool {
	return p.Run.Spec.Terminate || slices.ContainsFunc(p.metrics, func(m *state) bool { return !m.dryRun && bad(m.result.Phase) })
}

// conclude reports whether all metrics have ended, and gives the run its phase: the worst of those that count.
func (p *pass) conclude() bool {
	s := &p.is.Status
	worst, message := v1alpha1.AnalysisPhaseSuccessful, ""
	for _, m := range p.metrics {
		if !ended(m.result.Phase) {
			s.Phase = v1alpha1.AnalysisPhaseRunning
			return false
		}
		if !m.dryRun && worse(m.result.Phase, worst) {
			worst, message = m.result.Phase, m.told()
		}
	}
	if p.Run.Spec.Terminate && (worst == v1alpha1.AnalysisPhaseSuccessful || message == "") {
		message = "Run Terminated"
	}
	if worst == v1alpha1.AnalysisPhaseSuccessful && !p.measured() { // nobody knows
		worst, message = v1alpha1.AnalysisPhaseInconclusive, cmp.Or(message, "No measurement was completed")
	}
	s.Phase, s.Message = worst, short(message)
	s.CompletedAt = p.moment(p.Now)
	return true
}

// told is what the run says of a metric that decides how it ended, empty if there is nothing to say.
func (m *state) told() string {
	if m.result.Message == "" {
		return ""
	}
	return fmt.Sprintf("Metric %q %s", m.metric.Name, strings.TrimPrefix(m.result.Message, "Metric "))
}

// measured reports whether one measurement of the run found something out, be it of a dry run.
func (p *pass) measured() bool {
	return slices.ContainsFunc(p.metrics, func(m *state) bool { return m.result.Count > 0 })
}

// fail ends the run before anything more is measured.
func (p *pass) fail(message string) {
	s := &p.is.Status
	s.Phase, s.Message, s.CompletedAt = v1alpha1.AnalysisPhaseError, short(p.arguments.secrets.Hide(message)), p.moment(p.Now)
	p.plan.Cancel, p.plan.Measure = p.Busy, nil
	p.stopAll()
}

// summarise counts the metrics by how they ended.
func (p *pass) summarise() {
	s := &p.is.Status
	s.RunSummary, s.DryRunSummary = v1alpha1.RunSummary{}, nil
	for _, m := range p.metrics {
		sum := &s.RunSummary
		if m.dryRun {
			if s.DryRunSummary == nil {
				s.DryRunSummary = &v1alpha1.RunSummary{}
			}
			sum = s.DryRunSummary
		}
		sum.Count++
		switch m.result.Phase {
		case v1alpha1.AnalysisPhaseSuccessful:
			sum.Successful++
		case v1alpha1.AnalysisPhaseFailed:
			sum.Failed++
		case v1alpha1.AnalysisPhaseInconclusive:
			sum.Inconclusive++
		case v1alpha1.AnalysisPhaseError:
			sum.Error++
		case v1alpha1.AnalysisPhasePending, v1alpha1.AnalysisPhaseRunning:
		}
	}
}
