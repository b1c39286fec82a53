package analysis_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
)

func TestBegin(t *testing.T) {
	run := func(name string, phase v1alpha1.AnalysisPhase) *v1alpha1.AnalysisRun {
		r := &v1alpha1.AnalysisRun{}
		r.Name, r.Status.Phase = name, phase
		return r
	}
	const going, over = v1alpha1.AnalysisPhaseRunning, v1alpha1.AnalysisPhaseSuccessful
	other := run("demo-smoke", going)
	other.Spec.Terminate = true
	leaving := run("demo-smoke", going)
	leaving.DeletionTimestamp = &metav1.Time{}
	tests := map[string]struct {
		runs  []*v1alpha1.AnalysisRun
		taken string
		name  string
		begun bool
	}{
		"nothing is there":                            {name: "demo-smoke"},
		"it was begun and not recorded":               {runs: []*v1alpha1.AnalysisRun{run("demo-smoke", going)}, name: "demo-smoke", begun: true},
		"the name is that of an attempt that is over": {runs: []*v1alpha1.AnalysisRun{run("demo-smoke", over)}, name: "demo-smoke.1"},
		"the name is that of another spec":            {runs: []*v1alpha1.AnalysisRun{other}, name: "demo-smoke.1"},
		"the name is someone else's":                  {taken: "demo-smoke", name: "demo-smoke.1"},
		"the attempt before it was deleted since":     {runs: []*v1alpha1.AnalysisRun{run("demo-smoke.1", going)}, name: "demo-smoke.1", begun: true},
		"the first of two": {
			runs: []*v1alpha1.AnalysisRun{run("demo-smoke.10", going), run("demo-smoke.2", going)}, name: "demo-smoke.2", begun: true,
		},
		"one that is being deleted":  {runs: []*v1alpha1.AnalysisRun{leaving}, name: "demo-smoke.1"},
		"one whose name is a number": {runs: []*v1alpha1.AnalysisRun{run("7", going)}, name: "demo-smoke"},
		"one of another analysis":    {runs: []*v1alpha1.AnalysisRun{run("demo-smoke.test", going)}, name: "demo-smoke"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, begun := analysis.Begin(run("demo-smoke", ""), test.runs, func(name string) bool { return name == test.taken })
			if got.Name != test.name || begun != test.begun {
				t.Errorf("%s, begun %t; want %s, begun %t", got.Name, begun, test.name, test.begun)
			}
		})
	}
}
