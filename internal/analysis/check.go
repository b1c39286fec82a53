package analysis

import (
	"fmt"
	"strings"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// CheckRun finds what is wrong with an AnalysisRun, no matter who created it. Limits that come from arguments are taken as
// written.
func CheckRun(run v1alpha1.AnalysisRunSpec) []string {
	if len(run.Metrics) == 0 {
		return []string{"there is no metric: set at least one"}
	}
	var all []string
	seen := map[string]bool{}
	for i := range run.Metrics {
		metric := &run.Metrics[i]
		if seen[metric.Name] {
			all = append(all, fmt.Sprintf("metric %q is there twice: rename one of the two", metric.Name))
		}
		seen[metric.Name] = true
		for _, text := range metricProblems(metric, true) {
			all = append(all, fmt.Sprintf("metric %q: %s", metric.Name, text))
		}
	}
	m := merger{analysis: spec.Analysis{Field: "spec"}}
	m.checkPatterns(run)
	for _, p := range m.problems {
		all = append(all, strings.ReplaceAll(p.String(), ", here or in the templates", ""))
	}
	return all
}
