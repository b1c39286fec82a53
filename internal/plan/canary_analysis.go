package plan

import (
	"strconv"
	"strings"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// The analyses of a canary: steps that must pass, and one in the background that must not fail while the steps go on.

// mayAdvance reports whether nothing but the steps themselves keeps the update from going on.
func (p *pass) mayAdvance(c spec.Canary) bool {
	if p.promoted() {
		return false
	}
	if p.is.Abort || p.is.PromoteFull || p.spec.Paused {
		return true // which is not for an analysis to say
	}
	p.dropCanaryAnalyses(c)
	p.dropExperiment(c)
	return p.passesInBackground(c)
}

// passesInBackground reports whether the analysis in the background has nothing against going on, and begins it at its step. One that
// cannot be begun holds the update: nothing would watch over it.
func (p *pass) passesInBackground(c spec.Canary) bool {
	if c.Background == nil || p.at() < c.BackgroundStep || p.is.Canary.CurrentBackgroundAnalysisRunStatus == nil && !p.stepRecorded() {
		return true
	}
	_, missing := p.judged(judgement{
		Analysis:  *c.Background,
		runRecord: runRecord{v1alpha1.RolloutTypeBackground, &p.is.Canary.CurrentBackgroundAnalysisRunStatus},
		failure:   "Background analysis phase error/failed",
	})
	last := p.is.Canary.CurrentBackgroundAnalysisRunStatus
	if last != nil && !analysis.Failed(last.Status) && last.Status != v1alpha1.AnalysisPhaseInconclusive {
		return true
	}
	p.Note(change.TopicWait, "the next step", missing)
	if step := p.is.Canary.CurrentStepAnalysisRunStatus; step != nil && analysis.Failed(step.Status) { // whatever becomes of the other
		p.failure = failure(stepFailure, step)
	}
	return false
}

// stepFailure is what an abort says where the analysis of a step has failed.
const stepFailure = "Step-based analysis phase error/failed"

// passedStep reports whether the analysis of the current step has passed, or else what it waits for. It begins when the status has
// the step, as all that steps do.
func (p *pass) passedStep(s spec.RunAnalysis) (bool, string) {
	if p.is.Canary.CurrentStepAnalysisRunStatus == nil && !p.stepRecorded() {
		return false, "the analysis begins now"
	}
	step := strconv.Itoa(int(p.at()))
	return p.judged(judgement{
		Analysis:  s.Analysis,
		runRecord: runRecord{v1alpha1.RolloutTypeStep, &p.is.Canary.CurrentStepAnalysisRunStatus},
		suffix:    "-" + step,
		labels:    map[string]string{v1alpha1.StepIndexLabel: step},
		failure:   stepFailure,
	})
}

// stepRecorded reports whether the current step was the current one before this pass.
func (p *pass) stepRecorded() bool {
	return !p.begun && !p.retried && sameIndex(p.was.CurrentStepIndex, p.is.CurrentStepIndex)
}

// leaveStep forgets the verdict of a step that is done: the next one has its own.
func (p *pass) leaveStep(step spec.Step) {
	switch step.(type) {
	case spec.RunAnalysis:
		p.is.Canary.CurrentStepAnalysisRunStatus = nil
	case spec.RunExperiment:
		p.is.Canary.CurrentExperiment = ""
	case spec.SetWeight, spec.SetCanaryScale, spec.SetHeaderRoute, spec.SetMirrorRoute, spec.Pause: // leave nothing in the status
	}
}

// dropCanaryAnalyses forgets analyses that are not of the current step, as when a person skips one, or that the spec does not ask
// for any more, and the pause that one of them led to.
func (p *pass) dropCanaryAnalyses(c spec.Canary) {
	s := &p.is.Canary
	if last := s.CurrentStepAnalysisRunStatus; last != nil {
		first := p.runName("-" + strconv.Itoa(int(p.at())))
		if last.Name != first && !strings.HasPrefix(last.Name, first+".") {
			s.CurrentStepAnalysisRunStatus = nil
		}
	}
	if c.Background == nil || p.at() < c.BackgroundStep {
		s.CurrentBackgroundAnalysisRunStatus = nil
	}
	p.dropInconclusivePause()
}
