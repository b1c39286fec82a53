package plan

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// judgement is an analysis whose verdict something waits for.
type judgement struct {
	spec.Analysis
	runRecord
	// suffix sets the names of its runs apart from those of the version's other analyses.
	suffix string
	labels map[string]string
	// failure is what an abort says if the analysis fails. The texts are wire format.
	failure string
}

// judged reports whether an analysis has passed, or else what it waits for. One that has not been begun is begun; one that failed
// ends the update; one that could not tell pauses it, and is begun anew when a person resumes.
//
// The status remembers the run, so that a verdict counts even when the object is gone.
func (p *pass) judged(a judgement) (passed bool, missing string) {
	last := *a.status
	if last == nil {
		return false, p.startRun(a)
	}
	switch last.Status {
	case v1alpha1.AnalysisPhaseSuccessful:
		return true, ""
	case v1alpha1.AnalysisPhaseFailed, v1alpha1.AnalysisPhaseError:
		p.failure = failure(a.failure, last)
		return false, p.failure
	case v1alpha1.AnalysisPhaseInconclusive:
		resumed, missing := p.hold(v1alpha1.PauseReasonInconclusiveAnalysis, spec.Pause{Indefinite: true})
		if !resumed {
			return false, "analysis " + last.Name + " is inconclusive: " + missing
		}
		return false, p.startRun(a)
	case v1alpha1.AnalysisPhasePending, v1alpha1.AnalysisPhaseRunning:
	}
	if p.run(last.Name) == nil { // someone deleted it before it ended
		return false, p.startRun(a)
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
func (p *pass) startRun(a judgement) string {
	want, problems := analysis.Run(a.Analysis, p.Templates, analysis.Source{
		Rollout: p.Rollout, Stable: p.is.StableRS, Latest: p.is.CurrentPodHash,
	})
	if len(problems) > 0 {
		p.complain(problems)
		return "the analysis cannot be begun: " + problems[0].String()
	}
	run, begun := analysis.Begin(p.newRun(a, want), p.AnalysisRuns, func(name string) bool {
		failure := p.runFailure(name)
		return failure != nil && failure.Taken
	})
	if refusal := p.runFailure(run.Name); refusal != nil {
		p.complain([]spec.Problem{{Field: a.Field, Text: fmt.Sprintf("AnalysisRun %q was refused: %s", run.Name, refusal.Message)}})
		p.WakeAt(p.Now.Add(createRetry))
		return "the API server refused the AnalysisRun"
	}
	if !begun {
		p.judge = append(p.judge, change.CreateAnalysisRun{Run: run, Reason: a.Field})
		p.Note(change.TopicJudge, "begin analysis "+run.Name, a.Field)
		for _, w := range analysis.Warn(a.Analysis, p.Templates, p.Rollout) {
			p.Note(change.TopicJudge, "analysis "+run.Name, w.String())
		}
	}
	p.remember(a.runRecord, run)
	return "analysis " + run.Name + " has begun"
}

// newRun is a run of an analysis, under the first name that it may have.
func (p *pass) newRun(a judgement, want v1alpha1.AnalysisRunSpec) *v1alpha1.AnalysisRun {
	labels := map[string]string{
		v1alpha1.RolloutTypeLabel:     a.kind,
		v1alpha1.PodTemplateHashLabel: p.is.CurrentPodHash,
	}
	maps.Copy(labels, a.labels)
	if id, ok := p.Rollout.Labels[v1alpha1.InstanceIDLabel]; ok {
		labels[v1alpha1.InstanceIDLabel] = id
	}
	maps.Copy(labels, a.AnalysisRunMetadata.Labels)
	if p.spec.Selector != nil {
		maps.Copy(labels, p.spec.Selector.MatchLabels)
	}
	annotations := map[string]string{v1alpha1.RevisionAnnotation: p.revision()}
	maps.Copy(annotations, a.AnalysisRunMetadata.Annotations)
	return &v1alpha1.AnalysisRun{
		ObjectMeta: metav1.ObjectMeta{
			Name:            p.runName(a.suffix),
			Namespace:       p.Rollout.Namespace,
			Labels:          labels,
			Annotations:     annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(p.Rollout, v1alpha1.RolloutGVK)},
		},
		Spec: want,
	}
}

// runName is the first name that a run may have.
func (p *pass) runName(suffix string) string {
	return fmt.Sprintf("%s-%s-%s%s", p.Rollout.Name, p.is.CurrentPodHash, p.revision(), suffix)
}

func (p *pass) runFailure(name string) *change.CreateFailure {
	for i := range p.RunFailures {
		if p.RunFailures[i].Name == name {
			return &p.RunFailures[i]
		}
	}
	return nil
}

// checkAnalyses finds what is wrong with the analyses that the spec asks for and with their templates, long before they are run.
func (p *pass) checkAnalyses() {
	for _, a := range p.spec.Analyses() {
		p.complain(analysis.Check(a, p.Templates, p.Rollout))
	}
	for _, step := range p.steps() {
		if e, ok := step.(spec.RunExperiment); ok {
			p.complain(analysis.CheckExperiment(e.Resolved, p.Templates))
		}
	}
}

// complain adds problems that have not been told of in this pass.
func (p *pass) complain(problems []spec.Problem) {
	for _, problem := range problems {
		if !slices.Contains(p.problems, problem) {
			p.problems = append(p.problems, problem)
		}
	}
}

// judging reports whether an analysis is under way that the update waits for.
func (p *pass) judging() bool {
	if p.promoted() || p.is.Abort || p.is.PromoteFull {
		return false
	}
	for _, r := range runRecords(p.is) {
		if *r.status != nil && !analysis.Ended((*r.status).Status) && r.kind != v1alpha1.RolloutTypeBackground {
			return true
		}
	}
	return p.experimenting()
}

// dropInconclusivePause ends the pause for an analysis that could not tell where no such analysis is waited for any more.
func (p *pass) dropInconclusivePause() {
	if p.pausedSince(v1alpha1.PauseReasonInconclusiveAnalysis).IsZero() {
		return
	}
	for _, r := range runRecords(p.is) {
		if *r.status != nil && (*r.status).Status == v1alpha1.AnalysisPhaseInconclusive {
			return
		}
	}
	p.endPause(v1alpha1.PauseReasonInconclusiveAnalysis)
}
