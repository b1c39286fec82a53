package analysis

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Begin decides which AnalysisRun it is that is wanted: one of runs that is the very same and was begun by a pass that could not
// record it, or else a new one, named by the first name that is not taken. Names of runs that have ended are: their verdict was about
// another attempt.
func Begin(want *v1alpha1.AnalysisRun, runs []*v1alpha1.AnalysisRun, taken func(name string) bool) (run *v1alpha1.AnalysisRun, begun bool) {
	want = want.DeepCopy()
	base := want.Name
	for i := 1; ; i++ {
		have := named(runs, want.Name)
		switch {
		case have != nil && isSame(have, want):
			return have, true
		case have == nil && !taken(want.Name):
			return want, false
		}
		want.Name = fmt.Sprintf("%s.%d", base, i)
	}
}

func named(runs []*v1alpha1.AnalysisRun, name string) *v1alpha1.AnalysisRun {
	for _, run := range runs {
		if run.Name == name {
			return run
		}
	}
	return nil
}

// isSame reports whether a run was begun for the same reason, and goes on.
func isSame(have, want *v1alpha1.AnalysisRun) bool {
	return have.DeletionTimestamp == nil && !Ended(have.Status.Phase) && equality.Semantic.DeepEqual(have.Spec, want.Spec) &&
		have.Labels[v1alpha1.PodTemplateHashLabel] == want.Labels[v1alpha1.PodTemplateHashLabel]
}

// Ended reports whether nothing more is measured.
func Ended(phase v1alpha1.AnalysisPhase) bool {
	switch phase {
	case v1alpha1.AnalysisPhaseSuccessful, v1alpha1.AnalysisPhaseFailed, v1alpha1.AnalysisPhaseError, v1alpha1.AnalysisPhaseInconclusive:
		return true
	case v1alpha1.AnalysisPhasePending, v1alpha1.AnalysisPhaseRunning, "":
	}
	return false
}

// Failed reports whether a verdict is against what was measured, or there is none since measuring went wrong.
func Failed(phase v1alpha1.AnalysisPhase) bool {
	return phase == v1alpha1.AnalysisPhaseFailed || phase == v1alpha1.AnalysisPhaseError
}
