package controller_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

// TestCostlyConditionsHoldNobodyUp is S5 of the security review. One AnalysisRun has a pattern of 8 kB that would take a gigabyte to compile and
// hours to match; twenty others have conditions that use up their budget, again and again. With a single worker an honest AnalysisRun is
// measured all the same.
func TestCostlyConditionsHoldNobodyUp(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	g := newGauge(t, "1")
	ns.StartController("--analysis-threads", "1")
	const metrics = `
metrics:
  - name: m
    interval: 1s
    count: 100
    consecutiveErrorLimit: 100
    successCondition: '%s'
    provider: {web: {url: "%s"}}
`
	createRun(t, ns, "hostile", fmt.Sprintf(metrics, `repeat("x", 900000) matches "`+strings.Repeat("(x?){1000}", 800)+`y"`, g.URL))
	for i := range 20 {
		createRun(t, ns, fmt.Sprintf("costly-%d", i), fmt.Sprintf(metrics, `all(1..900000, -#+# < 1)`, g.URL))
	}
	createRun(t, ns, "honest", `
metrics:
  - name: m
    interval: 1s
    count: 3
    successCondition: result == 1
    provider: {web: {url: "`+g.URL+`"}}
`)
	if run := ns.WaitForAnalysisRun("honest", "to end", hasEnded); run.Status.Phase != v1alpha1.AnalysisPhaseSuccessful {
		t.Errorf("the honest one ended %s: %s", run.Status.Phase, run.Status.Message)
	}
	run := ns.WaitForAnalysisRun("hostile", "to end", hasEnded)
	if want := "the pattern has 8001 bytes and may have 1000: write a shorter one"; !strings.Contains(run.Status.Message, want) {
		t.Errorf("the hostile one ended %s: %.500s; want %q", run.Status.Phase, run.Status.Message, want)
	}
	ns.WaitForAnalysisRun("costly-0", "to tell what is wrong with its condition", func(run *v1alpha1.AnalysisRun) bool {
		return len(run.Status.MetricResults) > 0 && run.Status.MetricResults[0].Error > 0 &&
			strings.Contains(run.Status.MetricResults[0].Measurements[0].Message, "it takes too long for what was measured")
	})
}
