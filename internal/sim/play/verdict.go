package play

import (
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// forecast is how an AnalysisRun that begins now will end, and after how long, with all metrics good but those that the scenario fails.
// Running is for ever: an analysis in the background has no end.
func forecast(run *v1alpha1.AnalysisRun, begun time.Duration, events []Event) (v1alpha1.AnalysisPhase, time.Duration) {
	last, endless := time.Duration(0), false
	failed := time.Duration(-1)
	for i := range run.Spec.Metrics {
		m := &run.Spec.Metrics[i]
		end, fails, forever := course(m, begun, events)
		switch {
		case fails && (failed < 0 || end < failed):
			failed = end
		case forever:
			endless = true
		default:
			last = max(last, end)
		}
	}
	switch {
	case failed >= 0:
		return v1alpha1.AnalysisPhaseFailed, failed
	case endless:
		return v1alpha1.AnalysisPhaseRunning, 0
	}
	return v1alpha1.AnalysisPhaseSuccessful, last
}

// course is when a metric is done, and whether it fails then. One with an interval and no count has no end.
func course(m *v1alpha1.Metric, begun time.Duration, events []Event) (end time.Duration, fails, endless bool) {
	interval, delay := duration(m.Interval), duration(m.InitialDelay)
	count := 1
	if m.Count != nil && m.Count.IntValue() > 0 {
		count = m.Count.IntValue()
	}
	endless = m.Count == nil && interval > 0
	limit := 0
	if m.FailureLimit != nil {
		limit = m.FailureLimit.IntValue()
	}
	until := horizon(m.Name, events)
	failures := 0
	for k := 0; endless || k < count; k++ {
		end = delay + time.Duration(k)*interval
		if failing(m.Name, begun+end, events) {
			if failures++; failures > limit {
				return end, true, false
			}
		} else if endless && begun+end > until { // nothing changes any more
			return 0, false, true
		}
	}
	return end, false, false
}

// failing reports whether the scenario has a metric fail at a time.
func failing(metric string, at time.Duration, events []Event) bool {
	is := false
	for _, e := range events {
		if e.At > at {
			break
		}
		if len(e.Args) == 2 && e.Args[0] == "metric" && e.Args[1] == metric {
			is = e.Verb == "fail"
		}
	}
	return is
}

// horizon is when the scenario says the last thing about a metric.
func horizon(metric string, events []Event) time.Duration {
	last := time.Duration(0)
	for _, e := range events {
		if len(e.Args) == 2 && e.Args[1] == metric {
			last = max(last, e.At)
		}
	}
	return last
}

func duration(d v1alpha1.DurationString) time.Duration {
	parsed, err := time.ParseDuration(string(d))
	if err != nil {
		return 0 // none, or an argument that is not known before it runs
	}
	return max(0, parsed)
}
