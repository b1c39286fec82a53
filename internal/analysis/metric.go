package analysis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/pattern"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// metricProblems are what is wrong with a metric, as far as it does not depend on the values of arguments. An endless metric is one
// that measures until it is stopped, which only some analyses ever are.
func metricProblems(metric *v1alpha1.Metric, endless bool) []string {
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }

	if n := len(metric.Provider.Names()); n != 1 {
		add("it has %d providers: set exactly one", n)
	}
	if isNoLength(metric.Interval) {
		add(`interval %q is not a duration: write for example "30s" or "5m"`, metric.Interval)
	}
	if isNoLength(metric.InitialDelay) {
		add(`initialDelay %q is not a duration: write for example "30s" or "5m"`, metric.InitialDelay)
	}
	all = slices.Concat(all, spec.ComparisonProblems(metric), spec.GoldenProblems(metric))
	return append(all, limitProblems(metric, endless)...)
}

func isNoLength(d v1alpha1.DurationString) bool {
	if d == "" || hasArgument(string(d)) {
		return false
	}
	length, err := d.Duration()
	return err != nil || length < 0
}

// limitProblems are what is wrong with the counts of a metric.
func limitProblems(metric *v1alpha1.Metric, endless bool) []string {
	var all []string
	for _, limit := range []struct {
		name   string
		value  *intstr.IntOrString
		lowest int
	}{
		{"count", metric.Count, 0},
		{"failureLimit", metric.FailureLimit, -1},
		{"inconclusiveLimit", metric.InconclusiveLimit, 0},
		{"consecutiveErrorLimit", metric.ConsecutiveErrorLimit, 0},
		{"consecutiveSuccessLimit", metric.ConsecutiveSuccessLimit, 0},
	} {
		n, known := number(limit.value)
		switch {
		case !known && !hasArgument(limit.value.StrVal):
			all = append(all, fmt.Sprintf("%s %q is not a number: write one such as 3", limit.name, limit.value.StrVal))
		case known && n < limit.lowest:
			all = append(all, fmt.Sprintf("%s %d is too low: write %d or more", limit.name, n, limit.lowest))
		}
	}
	return append(append(all, countProblems(metric)...), endProblems(metric, endless)...)
}

// countProblems are what keeps count from letting the other limits be reached.
func countProblems(metric *v1alpha1.Metric) []string {
	count, known := number(metric.Count)
	failures, failuresKnown := number(metric.FailureLimit)
	inconclusive, inconclusiveKnown := number(metric.InconclusiveLimit)
	successes, successesKnown := number(metric.ConsecutiveSuccessLimit)
	switch {
	case !known || count <= 0:
	case count > 1 && metric.Interval == "":
		return []string{fmt.Sprintf("interval is required when count is more than 1, and count is %d: set it to the time between two measurements, such as 30s", count)}
	case failuresKnown && successesKnown && count < max(failures, 0)+successes:
		return []string{fmt.Sprintf("count %d must be at least failureLimit plus consecutiveSuccessLimit, which is %d: raise count or lower a limit", count, max(failures, 0)+successes)}
	case inconclusiveKnown && count < inconclusive:
		return []string{fmt.Sprintf("count %d must be at least inconclusiveLimit, which is %d: raise count or lower the limit", count, inconclusive)}
	}
	return nil
}

// endProblems are what keeps a metric from ever coming to an end.
func endProblems(metric *v1alpha1.Metric, endless bool) []string {
	if n, known := number(metric.ConsecutiveSuccessLimit); !known || n != 0 {
		return nil
	}
	var all []string
	if n, known := number(metric.FailureLimit); known && n == -1 {
		all = append(all, "failureLimit -1 needs consecutiveSuccessLimit of at least 1, or nothing could fail the metric")
	}
	if n, known := number(metric.Count); known && n == 0 && !endless && metric.Interval != "" {
		all = append(all, "it runs indefinitely, and this analysis must come to an end: set count")
	}
	return all
}

// number reads a count or limit, and reports whether it is known already: it may be left to an argument. None is 0.
func number(v *intstr.IntOrString) (int, bool) {
	if v == nil {
		return 0, true
	}
	if v.Type == intstr.Int {
		return int(v.IntVal), true
	}
	n, err := strconv.Atoi(v.StrVal)
	return n, err == nil
}

func hasArgument(text string) bool { return strings.Contains(text, "{{") }

// checkPatterns makes sure that what dryRun and measurementRetention name are metrics of the run.
func (m *merger) checkPatterns(run v1alpha1.AnalysisRunSpec) {
	patterns := map[string][]string{}
	for _, d := range run.DryRun {
		patterns["dryRun"] = append(patterns["dryRun"], d.MetricName)
	}
	for _, r := range run.MeasurementRetention {
		patterns["measurementRetention"] = append(patterns["measurementRetention"], r.MetricName)
	}
	for _, field := range []string{"dryRun", "measurementRetention"} {
		seen := map[string]bool{}
		for _, pattern := range patterns[field] {
			if seen[pattern] {
				m.problem(field, "metricName %q is there twice, here or in the templates: take one out", pattern)
				continue
			}
			seen[pattern] = true
			m.checkPattern(field, pattern, run.Metrics)
		}
	}
}

func (m *merger) checkPattern(field, metricName string, metrics []v1alpha1.Metric) {
	if _, err := pattern.Compile(metricName); err != nil {
		m.problem(field, `metricName %q is not a valid regular expression (%s): write ".*" for all metrics`, metricName, err)
		return
	}
	if !fits(metricName, metrics) {
		m.problem(field, "metricName %q fits no metric of the templates: correct or remove it", metricName)
	}
}
