package analysis

import (
	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/pattern"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// CheckExperiment finds what is wrong with the analyses of an Experiment and their templates, as far as can be told before they are
// run: the arguments may have placeholders still.
func CheckExperiment(ex spec.Experiment, known Templates) []spec.Problem {
	var problems []spec.Problem
	var all v1alpha1.AnalysisRunSpec
	for _, a := range ex.Analyses {
		m := merger{analysis: a.Analysis, from: Source{Arguments: a.Arguments}, early: true}
		all.Metrics = append(all.Metrics, m.merge(known).Metrics...)
		all.DryRun, all.MeasurementRetention = a.DryRun, a.MeasurementRetention // each has those of the Experiment
		problems = append(problems, m.problems...)
	}
	if len(problems) > 0 {
		return problems // other problems would only be about what is missing
	}
	m := merger{analysis: spec.Analysis{Field: ex.Field}}
	m.checkPatterns(all)
	return m.problems
}

// given are the settings that the analysis adds to those of its templates. An Experiment has one list of them for all its analyses: of
// that only those count whose metrics are in this one.
func (m *merger) given(metrics []v1alpha1.Metric) ([]v1alpha1.DryRun, []v1alpha1.MeasurementRetention) {
	if m.from.Rollout != nil {
		return m.analysis.DryRun, m.analysis.MeasurementRetention
	}
	var dryRun []v1alpha1.DryRun
	for _, d := range m.analysis.DryRun {
		if fits(d.MetricName, metrics) {
			dryRun = append(dryRun, d)
		}
	}
	var retention []v1alpha1.MeasurementRetention
	for _, r := range m.analysis.MeasurementRetention {
		if fits(r.MetricName, metrics) {
			retention = append(retention, r)
		}
	}
	return dryRun, retention
}

// fits reports whether a regular expression finds any of the metrics.
func fits(metricName string, metrics []v1alpha1.Metric) bool {
	expression, err := pattern.Compile(metricName)
	if err != nil {
		return false
	}
	for i := range metrics {
		if expression.MatchString(metrics[i].Name) {
			return true
		}
	}
	return false
}
