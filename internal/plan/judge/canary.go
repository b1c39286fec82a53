package judge

import (
	"strconv"
	"strings"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// MayAdvance reports whether nothing but the steps themselves keeps the update from going on.
func (j *Judge) MayAdvance(c spec.Canary) bool {
	if j.update.State() == progress.Settled {
		return false
	}
	if j.update.State() == progress.Aborted || j.update.State() == progress.PromotedInFull || j.world.Spec.Paused {
		return true // which is not for an analysis to say
	}
	j.dropCanaryAnalyses(c)
	j.dropExperiment(c)
	return j.passesInBackground(c)
}

// passesInBackground reports whether the analysis in the background has nothing against going on, and begins it at its step. One that
// cannot be begun holds the update: nothing would watch over it.
func (j *Judge) passesInBackground(c spec.Canary) bool {
	if c.Background == nil || j.update.At() < c.BackgroundStep || j.update.Is.Canary.CurrentBackgroundAnalysisRunStatus == nil && !j.update.StepRecorded() {
		return true
	}
	_, missing := j.judged(judgement{
		Analysis:  *c.Background,
		RunRecord: progress.RunRecord{Kind: v1alpha1.RolloutTypeBackground, Status: &j.update.Is.Canary.CurrentBackgroundAnalysisRunStatus},
		failure:   "Background analysis phase error/failed",
	})
	last := j.update.Is.Canary.CurrentBackgroundAnalysisRunStatus
	if last != nil && !analysis.Failed(last.Status) && last.Status != v1alpha1.AnalysisPhaseInconclusive {
		return true
	}
	j.journal.Note(change.TopicWait, "the next step", missing)
	if step := j.update.Is.Canary.CurrentStepAnalysisRunStatus; step != nil && analysis.Failed(step.Status) { // whatever becomes of the other
		j.update.Failure = failure(stepFailure, step)
	}
	return false
}

// stepFailure is what an abort says where the analysis of a step has failed.
const stepFailure = "Step-based analysis phase error/failed"

// PassedStep reports whether the analysis of the current step has passed, or else what it waits for. It begins when the status has
// the step, as all that steps do.
func (j *Judge) PassedStep(s spec.RunAnalysis) (bool, string) {
	if j.update.Is.Canary.CurrentStepAnalysisRunStatus == nil && !j.update.StepRecorded() {
		return false, "the analysis begins now"
	}
	step := strconv.Itoa(int(j.update.At()))
	return j.judged(judgement{
		Analysis:  s.Analysis,
		RunRecord: progress.RunRecord{Kind: v1alpha1.RolloutTypeStep, Status: &j.update.Is.Canary.CurrentStepAnalysisRunStatus},
		suffix:    "-" + step,
		labels:    map[string]string{v1alpha1.StepIndexLabel: step},
		failure:   stepFailure,
	})
}

// LeaveStep forgets the verdict of a step that is done: the next one has its own.
func (j *Judge) LeaveStep(step spec.Step) {
	switch step.(type) {
	case spec.RunAnalysis:
		j.update.Is.Canary.CurrentStepAnalysisRunStatus = nil
	case spec.RunExperiment:
		j.update.Is.Canary.CurrentExperiment = ""
	case spec.SetWeight, spec.SetCanaryScale, spec.SetHeaderRoute, spec.SetMirrorRoute, spec.Pause, spec.RunPlugin: // leave nothing in the status
	}
}

// dropCanaryAnalyses forgets analyses that are not of the current step, as when a person skips one, or that the spec does not ask
// for any more, and the pause that one of them led to.
func (j *Judge) dropCanaryAnalyses(c spec.Canary) {
	s := &j.update.Is.Canary
	if last := s.CurrentStepAnalysisRunStatus; last != nil {
		first := j.runName("-" + strconv.Itoa(int(j.update.At())))
		if last.Name != first && !strings.HasPrefix(last.Name, first+".") {
			s.CurrentStepAnalysisRunStatus = nil
		}
	}
	if c.Background == nil || j.update.At() < c.BackgroundStep {
		s.CurrentBackgroundAnalysisRunStatus = nil
	}
	j.dropInconclusivePause()
}
