package judge

import (
	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// PassedBeforeSwitch reports whether the analysis before the switch has passed, or is not asked for.
func (j *Judge) PassedBeforeSwitch(b spec.BlueGreen) (passed bool, missing string) {
	if b.PrePromotion == nil {
		return true, ""
	}
	return j.judged(judgement{
		Analysis:  *b.PrePromotion,
		RunRecord: progress.RunRecord{Kind: v1alpha1.RolloutTypePrePromotion, Status: &j.update.Is.BlueGreen.PrePromotionAnalysisRunStatus},
		suffix:    "-pre",
		failure:   "Blue/green pre-promotion analysis phase error/failed",
	})
}

// PassedAfterSwitch reports whether the analysis after the switch has passed, or none is configured.
func (j *Judge) PassedAfterSwitch(b spec.BlueGreen) bool {
	if b.PostPromotion == nil || j.update.State() == progress.PromotedInFull || j.update.FastRollback() {
		return true
	}
	passed, missing := j.judged(judgement{
		Analysis:  *b.PostPromotion,
		RunRecord: progress.RunRecord{Kind: v1alpha1.RolloutTypePostPromotion, Status: &j.update.Is.BlueGreen.PostPromotionAnalysisRunStatus},
		suffix:    "-post",
		failure:   "Blue/green post-promotion analysis phase error/failed",
	})
	if !passed {
		j.journal.Note(change.TopicWait, "promotion", missing)
		j.limitAnalysis(b)
	}
	return passed
}

// Verifying reports whether an update's new version already serves and the analysis after the switch is still running.
func (j *Judge) Verifying(b spec.BlueGreen) bool {
	return b.PostPromotion != nil && j.update.State() != progress.Aborted && j.world.ObservedSelects(b.ActiveService) == j.update.Is.CurrentPodHash &&
		j.update.PausedSince(v1alpha1.PauseReasonInconclusiveAnalysis).IsZero()
}

// limitAnalysis counts the delay after which the old stack may go from the switch on. It is kept on the ReplicaSet, where it
// always is; so it holds after the promotion. A delay that the spec sets ends the analysis too.
func (j *Judge) limitAnalysis(b spec.BlueGreen) {
	old := j.world.StableBeside()
	if old == nil || !j.Verifying(b) {
		return
	}
	deadline := j.draft.StartDelay(old, j.draft.AfterUse(b.ScaleDownDelay))
	last := j.update.Is.BlueGreen.PostPromotionAnalysisRunStatus
	switch {
	case b.PostPromotionLimit == 0 || last == nil:
	case j.world.Now.Before(deadline):
		j.journal.WakeAt(deadline)
	default:
		j.update.Expired = last.Name
	}
}

// DropAnalyses forgets the analyses that the spec does not ask for any more, and the pause that one of them led to.
func (j *Judge) DropAnalyses(b spec.BlueGreen) {
	if j.update.State() == progress.Settled {
		return // what was is shown until the next update
	}
	s := &j.update.Is.BlueGreen
	if b.PrePromotion == nil {
		s.PrePromotionAnalysisRunStatus = nil
	}
	if b.PostPromotion == nil {
		s.PostPromotionAnalysisRunStatus = nil
	}
	j.dropInconclusivePause()
}

// AwaitsVerdict reports whether the analysis after the switch has not ended yet.
func (j *Judge) AwaitsVerdict() bool {
	b, ok := j.world.Spec.Strategy.(spec.BlueGreen)
	last := j.update.Is.BlueGreen.PostPromotionAnalysisRunStatus
	return ok && b.PostPromotion != nil && (last == nil || !analysis.Ended(last.Status))
}
