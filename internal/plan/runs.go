package plan

import (
	"cmp"
	"slices"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/clean"
)

// runRecord is a place in the status that remembers an AnalysisRun.
type runRecord struct {
	kind   string
	status **v1alpha1.RolloutAnalysisRunStatus
}

func runRecords(in *v1alpha1.RolloutStatus) []runRecord {
	return []runRecord{
		{v1alpha1.RolloutTypePrePromotion, &in.BlueGreen.PrePromotionAnalysisRunStatus},
		{v1alpha1.RolloutTypePostPromotion, &in.BlueGreen.PostPromotionAnalysisRunStatus},
		{v1alpha1.RolloutTypeStep, &in.Canary.CurrentStepAnalysisRunStatus},
		{v1alpha1.RolloutTypeBackground, &in.Canary.CurrentBackgroundAnalysisRunStatus},
	}
}

// forgetVerdicts makes room for the analyses of a new attempt.
func (p *pass) forgetVerdicts() {
	for _, r := range runRecords(p.is) {
		*r.status = nil
	}
	p.is.Canary.CurrentExperiment = ""
}

// seeRuns records how the AnalysisRuns are doing that the status remembers. Of one that is gone it keeps what was last known.
func (p *pass) seeRuns() {
	for _, r := range runRecords(p.is) {
		if *r.status == nil {
			continue
		}
		if run := p.run((*r.status).Name); run != nil {
			p.remember(r, run)
		}
	}
}

// remember puts an AnalysisRun's state into the status, and tells of it where its phase is another than before.
func (p *pass) remember(r runRecord, run *v1alpha1.AnalysisRun) {
	next := v1alpha1.RolloutAnalysisRunStatus{
		Name: run.Name, Status: cmp.Or(run.Status.Phase, v1alpha1.AnalysisPhasePending), Message: clean.Text(run.Status.Message),
	}
	previous := v1alpha1.AnalysisPhase(v1alpha1.NoPreviousStatus)
	if before := *r.status; before != nil && before.Name == next.Name {
		previous = before.Status
	}
	*r.status = &next
	if next.Status == previous {
		return
	}
	tell := p.Event
	if analysis.Failed(next.Status) {
		tell = p.Warn
	}
	tell(v1alpha1.EventAnalysisRunPrefix+string(next.Status), "%s Analysis Run '%s' Status New: '%s' Previous: '%s'", r.kind, next.Name, next.Status, previous)
}

func (p *pass) run(name string) *v1alpha1.AnalysisRun {
	for _, run := range p.AnalysisRuns {
		if run.Name == name && run.DeletionTimestamp == nil {
			return run
		}
	}
	return nil
}

// endRuns ends the AnalysisRuns that nothing waits for any more.
func (p *pass) endRuns() {
	for _, run := range p.AnalysisRuns {
		if analysis.Ended(run.Status.Phase) || run.Spec.Terminate || run.DeletionTimestamp != nil {
			continue
		}
		reason := p.noUseFor(run)
		if reason == "" {
			continue
		}
		to := run.DeepCopy()
		to.Spec.Terminate = true
		p.endFirst(change.TerminateAnalysisRun{From: run, To: to, Reason: reason})
		p.Note(change.TopicJudge, "end analysis "+run.Name, reason)
	}
}

// endFirst ends something before anything else begins: of what takes the place of another, never do two go on, even if the process ends
// or a write is not answered in between.
func (p *pass) endFirst(c change.Change) { p.judge = slices.Insert(p.judge, 0, c) }

// noUseFor is why an AnalysisRun is of no use, empty if it is of use.
func (p *pass) noUseFor(run *v1alpha1.AnalysisRun) string {
	switch {
	case p.is.Abort:
		return "the update was aborted"
	case p.promoted():
		return "the update is over"
	case p.is.PromoteFull:
		return "a full promotion was requested"
	case !remembers(p.is, run):
		return "nothing waits for it any more"
	case p.expired == run.Name:
		return "scaleDownDelaySeconds have passed since the switch"
	}
	return ""
}

// remembers reports whether a status remembers an AnalysisRun.
func remembers(status *v1alpha1.RolloutStatus, run *v1alpha1.AnalysisRun) bool {
	return slices.ContainsFunc(runRecords(status), func(r runRecord) bool { return *r.status != nil && (*r.status).Name == run.Name })
}

// verdictsMoved reports whether an analysis began, or came to another phase.
func (p *pass) verdictsMoved() bool {
	moved := func(was, is *v1alpha1.RolloutAnalysisRunStatus) bool {
		return is != nil && (was == nil || was.Name != is.Name || was.Status != is.Status)
	}
	return moved(p.was.BlueGreen.PrePromotionAnalysisRunStatus, p.is.BlueGreen.PrePromotionAnalysisRunStatus) ||
		moved(p.was.BlueGreen.PostPromotionAnalysisRunStatus, p.is.BlueGreen.PostPromotionAnalysisRunStatus) ||
		moved(p.was.Canary.CurrentStepAnalysisRunStatus, p.is.Canary.CurrentStepAnalysisRunStatus) ||
		p.was.Canary.CurrentExperiment != p.is.Canary.CurrentExperiment
}
