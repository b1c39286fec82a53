package play

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis/measure"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/view"
)

// outcome is what the measurements of a metric come to. The zero value is a good one that takes no time.
type outcome struct {
	verb, value string
	takes       time.Duration
}

// change takes up what the scenario says of a metric.
func (o *outcome) change(e Event) {
	switch e.Verb {
	case "takes":
		o.takes, _ = time.ParseDuration(e.Args[2]) // as the scenario was read
	case "value":
		o.verb, o.value = e.Verb, e.Args[2]
	default:
		o.verb, o.value = e.Verb, ""
	}
}

// measure stands for the providers: what is judged, and what comes of it, is up to the engine.
func (p *player) measure(task measure.Task) sim.Measurement {
	o := outcome{}
	if said := p.outcomes[task.Metric.Name]; said != nil {
		o = *said
	}
	m := sim.Measurement{Takes: o.takes}
	m.Question = "the scenario"
	switch o.verb {
	case "fail":
		m.Phase, m.Message = v1alpha1.AnalysisPhaseFailed, "the scenario has it fail"
	case "inconclusive":
		m.Phase, m.Message = v1alpha1.AnalysisPhaseInconclusive, "the scenario has it inconclusive"
	case "error":
		m.Err = "the scenario has nothing answer"
	case "nodata":
		m.Value, m.Text = shaped(task.Metric, nil), "none"
		if task.Metric.Comparison != nil {
			m.Phase, m.Message = cmp.Or(task.Metric.WhenNoData, v1alpha1.AnalysisPhaseInconclusive), "not enough values"
		}
	case "value":
		m.Value, m.Text = shaped(task.Metric, value(o.value)), o.value
		if task.Metric.Comparison != nil {
			m.Phase, m.Message = scored(&task.Metric, m.Text)
		}
	default:
		m.Phase = v1alpha1.AnalysisPhaseSuccessful
	}
	return m
}

// scored is what the score of a comparison means.
func scored(metric *v1alpha1.Metric, text string) (phase v1alpha1.AnalysisPhase, message string) {
	score, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return v1alpha1.AnalysisPhaseInconclusive, "the scenario sets no score, which is a number from 0 to 100"
	}
	resolved, _ := spec.ResolveComparison(metric)
	return resolved.Phase(score), fmt.Sprintf("score %s, comparison.pass is %d and comparison.marginal %d", text, resolved.Pass, resolved.Marginal)
}

// value is what a scenario writes: JSON, or else a text.
func value(text string) any {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	return v
}

// shaped is a value in the form in which the provider hands it to conditions: Prometheus answers with a list of numbers.
func shaped(m v1alpha1.Metric, v any) any {
	if metric.NameOf(m.Provider) != "prometheus" {
		return v
	}
	switch v := v.(type) {
	case nil:
		return []float64{}
	case float64:
		return []float64{v}
	case []any:
		numbers := []float64{}
		for _, e := range v {
			if n, ok := e.(float64); ok {
				numbers = append(numbers, n)
			}
		}
		return numbers
	}
	return v
}

// arguments are the values that Secrets and ConfigMaps have for a run. What is not among the objects that were given is made up, and a
// warning says so.
func (p *player) arguments(run *v1alpha1.AnalysisRun) measure.Arguments {
	found := measure.Arguments{Values: map[string]string{}}
	for _, arg := range run.Spec.Args {
		if arg.Value != nil || arg.ValueFrom == nil {
			continue
		}
		var source, value string
		var known bool
		switch from := arg.ValueFrom; {
		case from.SecretKeyRef != nil:
			found.Hidden = append(found.Hidden, arg.Name)
			source = fmt.Sprintf("key %q of Secret %q", from.SecretKeyRef.Key, from.SecretKeyRef.Name)
			value, known = p.secret(*from.SecretKeyRef)
		case from.ConfigMapKeyRef != nil:
			source = fmt.Sprintf("key %q of ConfigMap %q", from.ConfigMapKeyRef.Key, from.ConfigMapKeyRef.Name)
			value, known = p.setting(*from.ConfigMapKeyRef)
		default:
			continue
		}
		if !known {
			value = "1"
			p.warn("args.%s is %s, which was not given: played with the value 1", arg.Name, source)
		}
		found.Values[arg.Name] = value
	}
	return found
}

func (p *player) secret(ref v1alpha1.SecretKeyRef) (string, bool) {
	for _, s := range p.Secrets {
		if s.Name != ref.Name {
			continue
		}
		if value, ok := s.StringData[ref.Key]; ok {
			return value, true
		}
		value, ok := s.Data[ref.Key]
		return string(value), ok
	}
	return "", false
}

func (p *player) setting(ref v1alpha1.ConfigMapKeyRef) (string, bool) {
	for _, m := range p.ConfigMaps {
		if m.Name == ref.Name {
			value, ok := m.Data[ref.Key]
			return value, ok
		}
	}
	return "", false
}

// measured reports measurements that did not succeed, and keeps all of them for the chart.
func (p *player) measured(pass sim.AnalysisPass) {
	p.passes++
	if pass.Plan.Record == nil || !pass.Whole() {
		return
	}
	p.instant(nil)
	from, to := pass.Plan.Record.From, pass.Plan.Record.To
	for i := range to.Status.MetricResults {
		r := &to.Status.MetricResults[i]
		before := 0
		for _, old := range from.Status.MetricResults {
			if old.Name == r.Name {
				before = int(old.Count + old.Error)
			}
		}
		if n := len(r.Measurements); n > 0 && int(r.Count+r.Error) > before {
			p.tellMeasurement(r.Name, r.Measurements[n-1])
		}
	}
	if notes := pass.Plan.Notes; len(notes) > 0 { // the last one is about the run, if that is over, and has what those about metrics have
		last := notes[len(notes)-1]
		p.note(to.Name+": "+last.Text, last.Reason)
	}
}

// tellMeasurement keeps a measurement for the picture, and says of one that did not go well that it did not.
func (p *player) tellMeasurement(metric string, m v1alpha1.Measurement) {
	if !p.started {
		return
	}
	p.measures = append(p.measures, view.Measured{At: view.Seconds(p.since()), Metric: metric, Phase: string(m.Phase)})
	if m.Phase != v1alpha1.AnalysisPhaseSuccessful {
		p.note(fmt.Sprintf("metric %s measured: %s", metric, m.Phase), m.Message)
	}
}
