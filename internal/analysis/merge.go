package analysis

import (
	"fmt"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// Source is what the values of arguments can be taken from.
type Source struct {
	Rollout *v1alpha1.Rollout
	// Stable and Latest are the hashes of the version that served before the update and of the one that it brings.
	Stable, Latest string
	// Arguments are those that an Experiment gives, where there is no Rollout.
	Arguments []v1alpha1.Argument
}

// Run makes the spec of an AnalysisRun. If there are problems the spec must not be used.
func Run(a spec.Analysis, known Templates, from Source) (v1alpha1.AnalysisRunSpec, []spec.Problem) {
	m := merger{analysis: a, from: from}
	return m.merge(known), m.problems
}

// Check finds what is wrong with an analysis and its templates, as far as can be told before it is run.
func Check(a spec.Analysis, known Templates, ro *v1alpha1.Rollout) []spec.Problem {
	return checked(a, known, ro).problems
}

// Warn finds what an analysis probably should not ask for, and does all the same.
func Warn(a spec.Analysis, known Templates, ro *v1alpha1.Rollout) []spec.Problem {
	return checked(a, known, ro).warnings
}

func checked(a spec.Analysis, known Templates, ro *v1alpha1.Rollout) *merger {
	m := &merger{analysis: a, from: Source{Rollout: ro}, early: true}
	m.merge(known)
	return m
}

// merger puts templates together.
type merger struct {
	analysis spec.Analysis
	from     Source
	// early: what cannot be known before the run begins is no problem yet.
	early    bool
	problems []spec.Problem
	warnings []spec.Problem
}

func (m *merger) merge(known Templates) v1alpha1.AnalysisRunSpec {
	templates, problems := collect(m.analysis.Field, m.analysis.Templates, known)
	if m.problems = problems; len(problems) > 0 {
		return v1alpha1.AnalysisRunSpec{} // other problems would only be about what is missing
	}
	run := v1alpha1.AnalysisRunSpec{
		Metrics: m.metrics(templates),
		Args:    m.arguments(templates),
	}
	for _, t := range templates {
		run.DryRun = append(run.DryRun, t.DryRun...)
		run.MeasurementRetention = append(run.MeasurementRetention, t.MeasurementRetention...)
	}
	dryRun, retention := m.given(run.Metrics)
	run.DryRun = append(run.DryRun, dryRun...)
	run.MeasurementRetention = append(run.MeasurementRetention, retention...)
	m.checkPatterns(run)
	return withinLimits(run)
}

// metrics are those of all templates. Two of one name could not be told apart in the results.
func (m *merger) metrics(templates []template) []v1alpha1.Metric {
	var all []v1alpha1.Metric
	from := map[string]string{}
	for _, t := range templates {
		for i := range t.Metrics {
			metric := t.Metrics[i].DeepCopy()
			spec.FillGolden(metric, m.from.Rollout, m.from.Latest, m.from.Stable)
			if other, taken := from[metric.Name]; taken {
				m.problem("templates", "metric %q is in %s and in %s: rename one of the two", metric.Name, other, t.title)
				continue
			}
			from[metric.Name] = t.title
			all = append(all, *metric)
			for _, text := range metricProblems(metric, m.analysis.Endless) {
				m.problem("templates", "metric %q of %s: %s", metric.Name, t.title, text)
			}
		}
	}
	if len(all) == 0 {
		m.problem("templates", "there is no metric in any of the templates: give one of them metrics")
	}
	return all
}

func (m *merger) problem(field, format string, args ...any) {
	m.problems = append(m.problems, m.about(field, format, args...))
}

func (m *merger) about(field, format string, args ...any) spec.Problem {
	return spec.Problem{Field: m.analysis.Field + "." + field, Text: fmt.Sprintf(format, args...)}
}
