package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// underWay is the wanted run, whatever name it was created with, nil if there is none: if someone has deleted the run of an
// earlier attempt, a name before this one's has become free.
func underWay(runs []*v1alpha1.AnalysisRun, want *v1alpha1.AnalysisRun) *v1alpha1.AnalysisRun {
	return FirstNamed(runs, func(run *v1alpha1.AnalysisRun) bool { return isAttempt(run.Name, want.Name) && isSame(run, want) })
}

// FirstNamed is, of the objects that are wanted, the one with the name that is tried first; nil if none is wanted. Names grow with the
// numbers behind them.
func FirstNamed[T any, P interface {
	*T
	metav1.Object
}](objects []P, wanted func(P) bool) P {
	var first P
	for _, o := range objects {
		if !wanted(o) {
			continue
		}
		if first == nil || cmp.Or(cmp.Compare(len(o.GetName()), len(first.GetName())), cmp.Compare(o.GetName(), first.GetName())) < 0 {
			first = o
		}
	}
	return first
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
