package plan

import (
	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// The analyses of a blue-green update: one that must pass before the switch of the active Service, and one behind it. Until the
// latter has passed the old version is the stable one, and keeps all its pods.

// passedBefore reports whether the analysis before the switch has passed, or is not asked for.
func (p *pass) passedBefore(b spec.BlueGreen) (passed bool, missing string) {
	if b.PrePromotion == nil {
		return true, ""
	}
	return p.judged(judgement{
		Analysis:  *b.PrePromotion,
		runRecord: runRecord{v1alpha1.RolloutTypePrePromotion, &p.is.BlueGreen.PrePromotionAnalysisRunStatus},
		suffix:    "-pre",
		failure:   "Blue/green pre-promotion analysis phase error/failed",
	})
}

// passedBehind reports whether the analysis behind the switch has passed, or is not wanted.
func (p *pass) passedBehind(b spec.BlueGreen) bool {
	if b.PostPromotion == nil || p.is.PromoteFull || p.fastRollback() {
		return true
	}
	passed, missing := p.judged(judgement{
		Analysis:  *b.PostPromotion,
		runRecord: runRecord{v1alpha1.RolloutTypePostPromotion, &p.is.BlueGreen.PostPromotionAnalysisRunStatus},
		suffix:    "-post",
		failure:   "Blue/green post-promotion analysis phase error/failed",
	})
	if !passed {
		p.Note(change.TopicWait, "promotion", missing)
		p.limitAnalysis(b)
	}
	return passed
}

// verifying reports whether the new version serves already and the analysis behind the switch goes on.
func (p *pass) verifying(b spec.BlueGreen) bool {
	return b.PostPromotion != nil && !p.promoted() && !p.is.Abort && p.observedSelects(b.ActiveService) == p.is.CurrentPodHash &&
		p.pausedSince(v1alpha1.PauseReasonInconclusiveAnalysis).IsZero()
}

// limitAnalysis counts the delay after which the old stack may go from the switch on. It is kept on the ReplicaSet, where it
// always is; so it holds after the promotion. A delay that the spec sets ends the analysis too.
func (p *pass) limitAnalysis(b spec.BlueGreen) {
	old := p.stableBeside()
	if old == nil || !p.verifying(b) {
		return
	}
	deadline := p.startDelay(old, p.afterUse(b.ScaleDownDelay))
	last := p.is.BlueGreen.PostPromotionAnalysisRunStatus
	switch {
	case b.PostPromotionLimit == 0 || last == nil:
	case p.Now.Before(deadline):
		p.WakeAt(deadline)
	default:
		p.expired = last.Name
	}
}

// fastRollback reports whether the update goes back to a version that still had all its pods when it was asked for. It has served
// before, so no analysis is needed. The clock of the update remembers it.
func (p *pass) fastRollback() bool {
	d := p.is.Duration
	return p.fast || d != nil && d.FinishedAt == nil && d.CompletionStatus == v1alpha1.CompletionFastRolledBack
}

// dropAnalyses forgets the analyses that the spec does not ask for any more, and the pause that one of them led to.
func (p *pass) dropAnalyses(b spec.BlueGreen) {
	if p.promoted() {
		return // what was is shown until the next update
	}
	s := &p.is.BlueGreen
	if b.PrePromotion == nil {
		s.PrePromotionAnalysisRunStatus = nil
	}
	if b.PostPromotion == nil {
		s.PostPromotionAnalysisRunStatus = nil
	}
	p.dropInconclusivePause()
}

// awaitsVerdict reports whether the analysis behind the switch has not ended yet.
func (p *pass) awaitsVerdict() bool {
	b, ok := p.spec.Strategy.(spec.BlueGreen)
	last := p.is.BlueGreen.PostPromotionAnalysisRunStatus
	return ok && b.PostPromotion != nil && (last == nil || !analysis.Ended(last.Status))
}
