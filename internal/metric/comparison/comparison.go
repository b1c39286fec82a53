// Package comparison measures by comparing series of the canary with series of a baseline: it asks a provider for them, has package judge
// compare them, and puts the verdict into words. What must not be here: statistics, and how a provider is asked.
package comparison

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/judge"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// Window is the time of which a series is asked for.
type Window struct {
	Start, End time.Time
	Step       time.Duration
}

func (w Window) String() string {
	return fmt.Sprintf("from %s to %s every %s", w.Start.UTC().Format(time.RFC3339), w.End.UTC().Format(time.RFC3339), w.Step)
}

// Ask asks a provider for the series of a query: a list of values for each.
type Ask func(ctx context.Context, query string, w Window) ([][]float64, error)

// Measure compares. Place is where is asked.
func Measure(ctx context.Context, r metric.Request, now time.Time, place string, ask Ask) (metric.Reading, error) {
	c, problems := spec.ResolveComparison(&r.Metric)
	if len(problems) > 0 {
		return metric.Reading{}, fmt.Errorf("%s", strings.Join(problems, "; "))
	}
	w := Window{Start: now.Add(-c.Window), End: now, Step: c.Step}
	if !c.BeforeRun && w.Start.Before(r.Run.StartedAt) {
		w.Start = r.Run.StartedAt
	}
	question := fmt.Sprintf("comparison of canary and baseline %s at %s", w, place)
	about := map[string]string{}
	var signals []judge.Signal
	for _, s := range c.Signals {
		signal := judge.Signal{Rules: rules(c, s)}
		for _, side := range []struct {
			name, query string
			values      *[]float64
		}{{"canary", s.Canary, &signal.Canary}, {"baseline", s.Baseline, &signal.Baseline}} {
			about[s.Name+" "+side.name] = side.query
			values, err := one(ask(ctx, side.query, w))
			if err != nil {
				return metric.Reading{}, fmt.Errorf("%s of signal %q, query `%s` %s: %w", side.name, s.Name, strings.Join(strings.Fields(side.query), " "), w, err)
			}
			*side.values = values
		}
		signals = append(signals, signal)
	}
	reading := told(r.Metric, c, judge.All(signals, c.Weights))
	reading.Question, reading.About = question, about
	reading.Metadata[metric.Asked] = question
	return reading, nil
}

// one is the only series of an answer. None is a series without values.
func one(series [][]float64, err error) ([]float64, error) {
	switch {
	case err != nil:
		return nil, err
	case len(series) > 1:
		return nil, fmt.Errorf("it gives %d series, and a signal needs one: aggregate them, for example with sum() or avg()", len(series))
	case len(series) == 0:
		return nil, nil
	}
	return series[0], nil
}

func rules(c spec.Comparison, s spec.ComparisonSignal) judge.Rules {
	return judge.Rules{
		Name: s.Name, Group: s.Group, Direction: judge.Direction(s.Direction), Critical: s.Critical, Confidence: c.Confidence,
		Tolerance:  judge.Tolerance{Ratio: s.ToleratedRatio, Absolute: s.Tolerated},
		MinSamples: c.MinSamples, NoData: judge.NoData(s.WhenNoData),
	}
}

// told is a verdict as it is recorded: the score as the value, and what became of each signal and group.
func told(m v1alpha1.Metric, c spec.Comparison, v judge.Verdict) metric.Reading {
	reading := metric.Reading{Value: v.Score, Text: number(v.Score), Metadata: map[string]string{}}
	for _, r := range v.Results {
		reading.Metadata["signal "+r.Name] = result(r, c.MinSamples)
	}
	for _, g := range v.Groups {
		if len(v.Groups) > 1 || g.Name != "" {
			reading.Metadata[strings.TrimSpace("group "+g.Name)] = fmt.Sprintf("%d of %d signals passed, weight %d", g.Passed, g.Counted, g.Weight)
		}
	}
	switch {
	case len(v.Critical) > 0:
		reading.Phase = v1alpha1.AnalysisPhaseFailed
		reading.Message = "critical signals failed: " + why(v, c.MinSamples)
	case v.Open():
		reading.Phase = v1alpha1.AnalysisPhaseInconclusive
		if m.WhenNoData != "" {
			reading.Phase = m.WhenNoData
		}
		reading.Value, reading.Text = nil, ""
		reading.Message = "not enough values: " + why(v, c.MinSamples)
	default:
		reading.Phase = c.Phase(v.Score)
		if reading.Phase != v1alpha1.AnalysisPhaseSuccessful {
			limit, bound := "pass", c.Pass
			if reading.Phase == v1alpha1.AnalysisPhaseFailed {
				limit, bound = "marginal", c.Marginal
			}
			reading.Message = fmt.Sprintf("score %s is less than comparison.%s %d: %s", number(v.Score), limit, bound, why(v, c.MinSamples))
		}
	}
	return reading
}

// why are the signals that did not pass.
func why(v judge.Verdict, least int) string {
	var all []string
	for _, r := range v.Results {
		if r.Outcome != judge.Pass {
			all = append(all, r.Name+": "+result(r, least))
		}
	}
	return strings.Join(all, "; ")
}

// result is how a signal was judged, in a sentence.
func result(r judge.Result, least int) string {
	if r.Outcome == judge.Missing {
		return fmt.Sprintf("no data: %d values of the canary and %d of the baseline, minSamples is %d", r.Canary.N, r.Baseline.N, least)
	}
	difference := "both have mean " + number(r.Canary.Mean)
	if r.Canary.Mean != r.Baseline.Mean {
		difference = fmt.Sprintf("mean %s, baseline %s", number(r.Canary.Mean), number(r.Baseline.Mean))
		if r.Baseline.Mean != 0 {
			difference += fmt.Sprintf(" (%+.1f%%)", 100*(r.Canary.Mean-r.Baseline.Mean)/math.Abs(r.Baseline.Mean))
		}
	}
	return fmt.Sprintf("%s: %s; p %s, superiority %.2f, %d and %d values",
		r.Outcome, difference, number(r.P), r.Superiority, r.Canary.N, r.Baseline.N)
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
