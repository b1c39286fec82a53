package progress

import (
	"slices"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// Complain adds problems that were not reported yet in this reconcile.
func (p *Progress) Complain(problems []spec.Problem) {
	for _, problem := range problems {
		if !slices.Contains(p.Problems, problem) {
			p.Problems = append(p.Problems, problem)
		}
	}
}

// RunRecord is a place in the status that remembers an AnalysisRun.
type RunRecord struct {
	Kind   string
	Status **v1alpha1.RolloutAnalysisRunStatus
}

// RunRecords are the places in a status that remember AnalysisRuns.
func RunRecords(in *v1alpha1.RolloutStatus) []RunRecord {
	return []RunRecord{
		{v1alpha1.RolloutTypePrePromotion, &in.BlueGreen.PrePromotionAnalysisRunStatus},
		{v1alpha1.RolloutTypePostPromotion, &in.BlueGreen.PostPromotionAnalysisRunStatus},
		{v1alpha1.RolloutTypeStep, &in.Canary.CurrentStepAnalysisRunStatus},
		{v1alpha1.RolloutTypeBackground, &in.Canary.CurrentBackgroundAnalysisRunStatus},
	}
}

// forgetVerdicts makes room for the analyses of a new attempt.
func (p *Progress) forgetVerdicts() {
	for _, r := range RunRecords(p.Is) {
		*r.Status = nil
	}
	p.Is.Canary.CurrentExperiment, p.Is.Canary.StepPluginStatuses = "", nil
}

// Remembers reports whether a status remembers an AnalysisRun.
func Remembers(status *v1alpha1.RolloutStatus, run *v1alpha1.AnalysisRun) bool {
	return slices.ContainsFunc(RunRecords(status), func(r RunRecord) bool { return *r.Status != nil && (*r.Status).Name == run.Name })
}

// StepPlugin is what the status being written has of a plugin's step and one of some operations; nil if that is nothing.
func (p *Progress) StepPlugin(index int32, operations ...v1alpha1.StepPluginOperation) *v1alpha1.StepPluginStatus {
	all := p.Is.Canary.StepPluginStatuses
	i := slices.IndexFunc(all, func(e v1alpha1.StepPluginStatus) bool {
		return e.Index == index && slices.Contains(operations, e.Operation)
	})
	if i < 0 {
		return nil
	}
	return &all[i]
}

// PluginRuns is the plugin that is doing the current step, empty if none is.
func (p *Progress) PluginRuns() string {
	if e := p.StepPlugin(p.At(), v1alpha1.StepPluginRun); p.State() == Updating && e != nil && e.Phase == v1alpha1.StepPluginRunning {
		return e.Name
	}
	return ""
}
