package judge

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/world"
)

// ForgetRuns deletes AnalysisRuns that have ended and are no longer used. A run that became unused in this reconcile stays until the status
// records that; otherwise the next reconcile would start it again.
func (j *Judge) ForgetRuns() {
	var over []*v1alpha1.AnalysisRun
	for _, run := range j.world.AnalysisRuns {
		if analysis.Ended(run.Status.Phase) && run.DeletionTimestamp == nil && !progress.Remembers(j.update.Is, run) && !progress.Remembers(j.update.Was, run) {
			over = append(over, run)
		}
	}
	phase := func(run *v1alpha1.AnalysisRun) v1alpha1.AnalysisPhase { return run.Status.Phase }
	forget(j, "analyses", over, phase, func(run *v1alpha1.AnalysisRun, reason string) {
		j.draft.Shrink = append(j.draft.Shrink, change.DeleteAnalysisRun{Run: run})
		j.journal.Note(change.TopicJudge, "delete analysis "+run.Name, reason)
	})
}

// ForgetExperiments deletes Experiments that have ended, have no pods and play no part any more, once that is recorded.
func (j *Judge) ForgetExperiments() {
	var over []*v1alpha1.Experiment
	for _, ex := range j.world.Experiments {
		if analysis.Ended(ex.Status.Phase) && ex.DeletionTimestamp == nil && ex.Name != j.update.Is.Canary.CurrentExperiment && ex.Name != j.update.Was.Canary.CurrentExperiment && !world.HasPods(ex) {
			over = append(over, ex)
		}
	}
	phase := func(ex *v1alpha1.Experiment) v1alpha1.AnalysisPhase { return ex.Status.Phase }
	forget(j, "experiments", over, phase, func(ex *v1alpha1.Experiment, reason string) {
		j.draft.Shrink = append(j.draft.Shrink, change.DeleteExperiment{Experiment: ex})
		j.journal.Note(change.TopicJudge, "delete experiment "+ex.Name, reason)
	})
}

// forget deletes, of objects that are over, those of versions that are gone, and of the others the oldest beyond the limits.
func forget[T metav1.Object](j *Judge, kind string, over []T, phase func(T) v1alpha1.AnalysisPhase, remove func(T, string)) {
	slices.SortFunc(over, func(a, b T) int { // newest first
		return cmp.Or(b.GetCreationTimestamp().Compare(a.GetCreationTimestamp().Time), cmp.Compare(b.GetName(), a.GetName()))
	})
	var good, bad []T
	for _, o := range over {
		hash := o.GetLabels()[v1alpha1.PodTemplateHashLabel]
		switch {
		case hash != j.update.Is.CurrentPodHash && j.world.Find(hash) == nil:
			remove(o, "its version is gone")
		case phase(o) == v1alpha1.AnalysisPhaseSuccessful:
			good = append(good, o)
		default:
			bad = append(bad, o)
		}
	}
	limits := j.world.Spec.RunHistory
	for _, o := range good[min(limits.Successful, len(good)):] {
		remove(o, fmt.Sprintf("%d old successful %s are kept", limits.Successful, kind))
	}
	for _, o := range bad[min(limits.Unsuccessful, len(bad)):] {
		remove(o, fmt.Sprintf("%d old unsuccessful %s are kept", limits.Unsuccessful, kind))
	}
}
