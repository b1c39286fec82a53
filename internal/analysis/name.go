package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Begin decides which AnalysisRun it is that is wanted: one of runs that is the very same and was begun by a pass that could not
// record it, or else a new one, named by the first name that is not taken. Names of runs that have ended are: their verdict was about
// another attempt.
func Begin(want *v1alpha1.AnalysisRun, runs []*v1alpha1.AnalysisRun, taken func(name string) bool) (run *v1alpha1.AnalysisRun, begun bool) {
	if going := underWay(runs, want); going != nil {
		return going, true
	}
	want = want.DeepCopy()
	base := want.Name
	used := func(run *v1alpha1.AnalysisRun) bool { return run.Name == want.Name }
	for i := 1; slices.ContainsFunc(runs, used) || taken(want.Name); i++ {
		want.Name = fmt.Sprintf("%s.%d", base, i)
	}
	return want, false
}

// underWay is the run that is wanted under whatever name it was begun, nil if there is none: somebody may have deleted the run of an
// earlier attempt since, which makes a name free before this one's.
func underWay(runs []*v1alpha1.AnalysisRun, want *v1alpha1.AnalysisRun) *v1alpha1.AnalysisRun {
	var found *v1alpha1.AnalysisRun
	for _, run := range runs {
		first := found == nil || cmp.Or(cmp.Compare(len(run.Name), len(found.Name)), cmp.Compare(run.Name, found.Name)) < 0
		if first && isAttempt(run.Name, want.Name) && isSame(run, want) {
			found = run
		}
	}
	return found
}

// isAttempt reports whether a run has one of the names that [Begin] gives.
func isAttempt(name, base string) bool {
	number, again := strings.CutPrefix(name, base+".")
	_, err := strconv.Atoi(number)
	return name == base || again && err == nil
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
