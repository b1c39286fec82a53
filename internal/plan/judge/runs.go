package judge

import (
	"cmp"
	"slices"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/clean"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
)

// SeeRuns records how the AnalysisRuns are doing that the status remembers. Of one that is gone it keeps what was last known.
func (j *Judge) SeeRuns() {
	for _, r := range progress.RunRecords(j.update.Is) {
		if *r.Status == nil {
			continue
		}
		if run := j.world.Run((*r.Status).Name); run != nil {
			j.remember(r, run)
		}
	}
}

// remember records an AnalysisRun's state in the status, and adds an event if its phase changed.
func (j *Judge) remember(r progress.RunRecord, run *v1alpha1.AnalysisRun) {
	next := v1alpha1.RolloutAnalysisRunStatus{
		Name: run.Name, Status: cmp.Or(run.Status.Phase, v1alpha1.AnalysisPhasePending), Message: clean.Text(run.Status.Message),
	}
	previous := v1alpha1.AnalysisPhase(v1alpha1.NoPreviousStatus)
	if before := *r.Status; before != nil && before.Name == next.Name {
		previous = before.Status
	}
	*r.Status = &next
	if next.Status == previous {
		return
	}
	tell := j.journal.Event
	if analysis.Failed(next.Status) {
		tell = j.journal.Warn
	}
	tell(v1alpha1.EventAnalysisRunPrefix+string(next.Status), "%s Analysis Run '%s' Status New: '%s' Previous: '%s'", r.Kind, next.Name, next.Status, previous)
}

// EndRuns ends the AnalysisRuns that nothing waits for any more.
func (j *Judge) EndRuns() {
	for _, run := range j.world.AnalysisRuns {
		if analysis.Ended(run.Status.Phase) || run.Spec.Terminate || run.DeletionTimestamp != nil {
			continue
		}
		reason := j.noUseFor(run)
		if reason == "" {
			continue
		}
		to := run.DeepCopy()
		to.Spec.Terminate = true
		j.endFirst(change.TerminateAnalysisRun{From: run, To: to})
		j.journal.Note(change.TopicJudge, "end analysis "+run.Name, reason)
	}
}

// endFirst ends something before anything else begins: of what takes the place of another, never do two go on, even if the process ends
// or a write is not answered in between.
func (j *Judge) endFirst(c change.Change) { j.draft.Judge = slices.Insert(j.draft.Judge, 0, c) }

// noJudging is why nothing is judged in the state of the update, empty if something may be.
func (j *Judge) noJudging() string {
	switch j.update.State() {
	case progress.Settled:
		return "the update is over"
	case progress.Aborted:
		return "the update was aborted"
	case progress.PromotedInFull:
		return "a full promotion was requested"
	case progress.Updating:
	}
	return ""
}

// noUseFor is why an AnalysisRun is of no use, empty if it is of use.
func (j *Judge) noUseFor(run *v1alpha1.AnalysisRun) string {
	switch why := j.noJudging(); {
	case why != "":
		return why
	case !progress.Remembers(j.update.Is, run):
		return "nothing waits for it any more"
	case j.update.Expired == run.Name:
		return "scaleDownDelaySeconds have passed since the switch"
	}
	return ""
}

// VerdictsMoved reports whether an analysis began, or came to another phase.
func (j *Judge) VerdictsMoved() bool {
	moved := func(was, is *v1alpha1.RolloutAnalysisRunStatus) bool {
		return is != nil && (was == nil || was.Name != is.Name || was.Status != is.Status)
	}
	return moved(j.update.Was.BlueGreen.PrePromotionAnalysisRunStatus, j.update.Is.BlueGreen.PrePromotionAnalysisRunStatus) ||
		moved(j.update.Was.BlueGreen.PostPromotionAnalysisRunStatus, j.update.Is.BlueGreen.PostPromotionAnalysisRunStatus) ||
		moved(j.update.Was.Canary.CurrentStepAnalysisRunStatus, j.update.Is.Canary.CurrentStepAnalysisRunStatus) ||
		j.update.Was.Canary.CurrentExperiment != j.update.Is.Canary.CurrentExperiment ||
		!slices.EqualFunc(j.update.Was.Canary.StepPluginStatuses, j.update.Is.Canary.StepPluginStatuses, samePhase)
}

// samePhase reports whether two entries are of steps that stand where they stood.
func samePhase(was, is v1alpha1.StepPluginStatus) bool {
	return was.Index == is.Index && was.Operation == is.Operation && was.Phase == is.Phase && was.Disabled == is.Disabled
}
