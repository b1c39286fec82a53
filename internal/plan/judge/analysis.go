package judge

import (
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// judgement is an analysis whose verdict something waits for.
type judgement struct {
	spec.Analysis
	progress.RunRecord
	// suffix sets the names of its runs apart from those of the version's other analyses.
	suffix string
	labels map[string]string
	// failure is what an abort says if the analysis fails. The texts are wire format.
	failure string
}

// judged reports whether an analysis has passed, or else what it waits for. It starts an analysis that has not started. A failed one ends
// the update. An inconclusive one pauses it, and is started again when a user resumes.
//
// The status remembers the run, so a verdict counts even after the object is deleted.
func (j *Judge) judged(a judgement) (passed bool, missing string) {
	last := *a.Status
	if last == nil {
		return false, j.startRun(a)
	}
	switch last.Status {
	case v1alpha1.AnalysisPhaseSuccessful:
		return true, ""
	case v1alpha1.AnalysisPhaseFailed, v1alpha1.AnalysisPhaseError:
		j.update.Failure = failure(a.failure, last)
		return false, j.update.Failure
	case v1alpha1.AnalysisPhaseInconclusive:
		resumed, missing := j.update.Hold(v1alpha1.PauseReasonInconclusiveAnalysis, spec.Pause{Indefinite: true})
		if !resumed {
			return false, "analysis " + last.Name + " is inconclusive: " + missing
		}
		return false, j.startRun(a)
	case v1alpha1.AnalysisPhasePending, v1alpha1.AnalysisPhaseRunning:
	}
	if j.world.Run(last.Name) == nil { // someone deleted it before it ended
		return false, j.startRun(a)
	}
	return false, fmt.Sprintf("analysis %s is %s", last.Name, last.Status)
}

// failure is what an abort says of a run that failed.
func failure(of string, last *v1alpha1.RolloutAnalysisRunStatus) string {
	if last.Message == "" {
		return of
	}
	return of + ": " + last.Message
}

// startRun begins a run of an analysis under the first name that is free, and returns what is waited for then. A run that is there,
// and the very same, was begun by a pass that could not record it.
func (j *Judge) startRun(a judgement) string {
	want, problems := analysis.Run(a.Analysis, j.world.Templates, analysis.Source{
		Rollout: j.world.Rollout, Stable: j.update.Is.StableRS, Latest: j.update.Is.CurrentPodHash,
	})
	if len(problems) > 0 {
		j.update.Complain(problems)
		return "the analysis cannot start: " + problems[0].String()
	}
	run, begun := analysis.Begin(j.newRun(a, want), j.world.AnalysisRuns, func(name string) bool {
		failure := j.world.RunFailure(name)
		return failure != nil && failure.Taken
	})
	if refusal := j.world.RunFailure(run.Name); refusal != nil {
		j.update.Complain([]spec.Problem{{Field: a.Field, Text: fmt.Sprintf("AnalysisRun %q was refused: %s", run.Name, refusal.Message)}})
		j.journal.WakeAt(j.world.Now.Add(world.CreateRetry))
		return "the API server refused the AnalysisRun"
	}
	if !begun {
		j.draft.Judge = append(j.draft.Judge, change.CreateAnalysisRun{Run: run})
		j.journal.Note(change.TopicJudge, "begin analysis "+run.Name, a.Field)
		for _, w := range analysis.Warn(a.Analysis, j.world.Templates, j.world.Rollout) {
			j.journal.Note(change.TopicJudge, "analysis "+run.Name, w.String())
		}
	}
	j.remember(a.RunRecord, run)
	return "analysis " + run.Name + " has started"
}

// newRun is a run of an analysis, under the first name that it may have.
func (j *Judge) newRun(a judgement, want v1alpha1.AnalysisRunSpec) *v1alpha1.AnalysisRun {
	labels := map[string]string{
		v1alpha1.RolloutTypeLabel:     a.Kind,
		v1alpha1.PodTemplateHashLabel: j.update.Is.CurrentPodHash,
	}
	maps.Copy(labels, a.labels)
	if id, ok := j.world.Rollout.Labels[v1alpha1.InstanceIDLabel]; ok {
		labels[v1alpha1.InstanceIDLabel] = id
	}
	maps.Copy(labels, a.AnalysisRunMetadata.Labels)
	if j.world.Spec.Selector != nil {
		maps.Copy(labels, j.world.Spec.Selector.MatchLabels)
	}
	annotations := map[string]string{v1alpha1.RevisionAnnotation: j.update.Revision()}
	maps.Copy(annotations, a.AnalysisRunMetadata.Annotations)
	return &v1alpha1.AnalysisRun{
		ObjectMeta: metav1.ObjectMeta{
			Name:            j.runName(a.suffix),
			Namespace:       j.world.Rollout.Namespace,
			Labels:          labels,
			Annotations:     annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(j.world.Rollout, v1alpha1.RolloutGVK)},
		},
		Spec: want,
	}
}

// runName is the first name that a run may have.
func (j *Judge) runName(suffix string) string {
	return fmt.Sprintf("%s-%s-%s%s", j.world.Rollout.Name, j.update.Is.CurrentPodHash, j.update.Revision(), suffix)
}

// CheckAnalyses finds what is wrong with the analyses that the spec asks for and with their templates, long before they are run.
func (j *Judge) CheckAnalyses() {
	for _, a := range j.world.Spec.Analyses() {
		j.update.Complain(analysis.Check(a, j.world.Templates, j.world.Rollout))
	}
	for _, step := range j.world.Steps() {
		if e, ok := step.(spec.RunExperiment); ok {
			j.update.Complain(analysis.CheckExperiment(e.Resolved, j.world.Templates))
		}
	}
}

// Judging reports whether an analysis is under way that the update waits for.
func (j *Judge) Judging() bool {
	if j.update.State() != progress.Updating {
		return false
	}
	for _, r := range progress.RunRecords(j.update.Is) {
		if *r.Status != nil && !analysis.Ended((*r.Status).Status) && r.Kind != v1alpha1.RolloutTypeBackground {
			return true
		}
	}
	return j.experimenting() || j.update.PluginRuns() != ""
}

// dropInconclusivePause ends the pause for an analysis that could not tell where no such analysis is waited for any more.
func (j *Judge) dropInconclusivePause() {
	if j.update.PausedSince(v1alpha1.PauseReasonInconclusiveAnalysis).IsZero() {
		return
	}
	for _, r := range progress.RunRecords(j.update.Is) {
		if *r.Status != nil && (*r.Status).Status == v1alpha1.AnalysisPhaseInconclusive {
			return
		}
	}
	j.update.EndPause(v1alpha1.PauseReasonInconclusiveAnalysis)
}
