package measure

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/clean"
	"github.com/sluice-delivery/sluice/internal/expr"
	"github.com/sluice-delivery/sluice/internal/metric"
)

// takeResults puts what came back into the status.
func (p *pass) takeResults() {
	for _, result := range p.Results {
		for _, m := range p.metrics {
			if m.metric.Name == result.Metric.Name && m.expects(result) {
				m.add(p.measurement(result), hideAll(result.Secrets, result.Reading.About))
			}
		}
	}
}

// expects reports whether a result is news. What the status tells already is not, nor is what nobody wants to know any more.
func (m *state) expects(r Result) bool {
	if ended(m.result.Phase) || r.Canceled || r.Number != m.made()+1 {
		return false
	}
	return (r.Begun != nil) == (m.running() != nil)
}

// made is how many measurements have come to an end.
func (m *state) made() int { return int(m.result.Count + m.result.Error) }

// running is the measurement that takes its time, nil if there is none.
func (m *state) running() *v1alpha1.Measurement {
	if last := m.last(); last != nil && last.Phase == v1alpha1.AnalysisPhaseRunning {
		return last
	}
	return nil
}

func (m *state) last() *v1alpha1.Measurement {
	if n := len(m.result.Measurements); n > 0 {
		return &m.result.Measurements[n-1]
	}
	return nil
}

// add writes a measurement down, in the place of the one that it went on with, and counts it when it has come to an end.
func (m *state) add(measured v1alpha1.Measurement, about map[string]string) {
	r := m.result
	if running := m.running(); running != nil {
		*running = measured
	} else {
		r.Measurements = append(r.Measurements, measured)
	}
	if len(about) > 0 {
		r.Metadata = about
	}
	switch measured.Phase {
	case v1alpha1.AnalysisPhaseSuccessful:
		r.Count++
		r.Successful++
		r.ConsecutiveSuccess++
		r.ConsecutiveError = 0
	case v1alpha1.AnalysisPhaseFailed:
		r.Count++
		r.Failed++
		r.ConsecutiveSuccess, r.ConsecutiveError = 0, 0
	case v1alpha1.AnalysisPhaseInconclusive:
		r.Count++
		r.Inconclusive++
		r.ConsecutiveSuccess, r.ConsecutiveError = 0, 0
	case v1alpha1.AnalysisPhaseError:
		r.Error++
		r.ConsecutiveError++
		r.ConsecutiveSuccess = 0
	case v1alpha1.AnalysisPhasePending, v1alpha1.AnalysisPhaseRunning:
	}
}

// measurement is a result with its verdict, and without what must not be shown.
func (p *pass) measurement(r Result) v1alpha1.Measurement {
	out := v1alpha1.Measurement{
		StartedAt: p.moment(r.StartedAt), FinishedAt: p.moment(r.FinishedAt), Metadata: hideAll(r.Secrets, r.Reading.Metadata),
	}
	if r.Begun != nil {
		out.StartedAt = r.Begun.StartedAt
		if out.Metadata == nil {
			out.Metadata = r.Begun.Metadata
		}
	}
	message := r.Err
	switch {
	case r.Err != "":
		out.Phase = v1alpha1.AnalysisPhaseError
	case r.Reading.Phase == v1alpha1.AnalysisPhaseRunning:
		out.Phase, out.FinishedAt, message = v1alpha1.AnalysisPhaseRunning, nil, r.Reading.Message
		out.ResumeAt = p.moment(r.Reading.ResumeAt)
	default:
		out.Phase, message = r.Reading.Phase, r.Reading.Message
	}
	out.Value, out.Message = short(r.Secrets.Hide(r.Reading.Text)), short(r.Secrets.Hide(message))
	return out
}

// Judge gives the reading of a result its phase, by the conditions of its metric, unless the provider has given one. It is part of the
// measurement: it may take a second, and some 100 MB while it does, so the shell judges where nothing waits for it, and a few results at once.
// It ends early with the cause of ctx when ctx ends.
func Judge(ctx context.Context, r Result) Result {
	if r.Err == "" && r.Reading.Phase == "" {
		r.Reading.Phase, r.Reading.Message = verdict{Metric: r.Metric, Reading: r.Reading}.judge(ctx, r)
	}
	return r
}

// verdict judges what was measured by the conditions of its metric.
type verdict struct {
	v1alpha1.Metric
	metric.Reading
}

func (v verdict) judge(ctx context.Context, r Result) (phase v1alpha1.AnalysisPhase, message string) {
	empty := expr.IsEmpty(v.Value)
	if empty && v.WhenNoData != "" {
		return v.WhenNoData, v.noData() + ", which whenNoData counts as " + string(v.WhenNoData)
	}
	var holds [2]bool
	for i, condition := range v.conditions() {
		if condition.text == "" {
			continue
		}
		var err error
		holds[i], err = expr.Holds(ctx, condition.text, v.Value, r.FinishedAt)
		if err != nil && r.Secrets.Hide(condition.text) != condition.text {
			err = errHidden // it might quote a part of the value
		}
		switch {
		case err != nil && empty:
			return v1alpha1.AnalysisPhaseError, fmt.Sprintf("%s, and %s %s needs some (%s): set whenNoData, or write default(…) or isNil(…) into the condition",
				v.noData(), condition.name, code(condition.text), err)
		case err != nil:
			return v1alpha1.AnalysisPhaseError, fmt.Sprintf("%s cannot be judged by %s %s: %s", v.what(), condition.name, code(condition.text), err)
		}
	}
	failure, success := holds[0], holds[1]
	switch {
	case v.FailureCondition != "" && failure:
		return v1alpha1.AnalysisPhaseFailed, fmt.Sprintf("%s meets failureCondition %s", v.what(), code(v.FailureCondition))
	case v.SuccessCondition == "" || success:
		return v1alpha1.AnalysisPhaseSuccessful, ""
	case v.FailureCondition == "":
		return v1alpha1.AnalysisPhaseFailed, fmt.Sprintf("%s does not meet successCondition %s", v.what(), code(v.SuccessCondition))
	}
	return v1alpha1.AnalysisPhaseInconclusive, fmt.Sprintf("%s meets neither successCondition %s nor failureCondition %s",
		v.what(), code(v.SuccessCondition), code(v.FailureCondition))
}

// errHidden stands for an error that cannot be shown.
var errHidden = errors.New("what is wrong is not shown, since the value of a Secret is in it; give conditions no Secrets")

type condition struct{ name, text string }

func (v verdict) conditions() [2]condition {
	return [2]condition{{"failureCondition", v.FailureCondition}, {"successCondition", v.SuccessCondition}}
}

// what names what was measured, and where it comes from.
func (v verdict) what() string {
	text := "value " + short(v.Text)
	if v.Question != "" {
		text += " of " + v.Question
	}
	return text
}

// code is an expression inside a sentence, on one line. A long one is cut, so that what the sentence says of it is kept.
func code(text string) string {
	return "`" + cut(strings.Join(strings.Fields(text), " "), longestCode) + "`"
}

const longestCode = 300

func (v verdict) noData() string {
	text := "no data"
	if v.Question != "" {
		text += " from " + v.Question
	}
	return text
}

// conditionProblems are conditions that can never be evaluated, as far as they do not depend on arguments.
func conditionProblems(metrics []v1alpha1.Metric) []string {
	var all []string
	for i := range metrics {
		for _, condition := range (verdict{Metric: metrics[i]}).conditions() {
			if condition.text == "" || strings.Contains(condition.text, "{{") {
				continue
			}
			if err := expr.Check(condition.text); err != nil {
				all = append(all, fmt.Sprintf("metric %q: %s %s: %s", metrics[i].Name, condition.name, code(condition.text), err))
			}
		}
	}
	return all
}

// longest is how many bytes of a text are kept: a status has to fit into an object.
const longest = 1024

func short(text string) string { return cut(clean.Text(cut(text, longest)), longest) }

func cut(text string, length int) string {
	if len(text) <= length {
		return text
	}
	for length > 0 && !utf8.RuneStart(text[length]) {
		length--
	}
	return text[:length] + "…"
}
