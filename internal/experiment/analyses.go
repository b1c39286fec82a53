package experiment

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// analyse begins the analyses that have not been begun. The status has the moment from which all templates were available: values of
// arguments depend on it, and a pass after a crash must find the same ones.
func (p *pass) analyse() {
	if p.was.AvailableAt == nil {
		return
	}
	for _, a := range p.spec.Analyses {
		last := p.verdictOf(a.Name)
		if last == nil || !analysis.Ended(last.Phase) && p.run(last.AnalysisRun) == nil { // someone deleted it before it ended
			p.begin(a)
		}
	}
}

// begin begins an analysis. One that cannot be begun is an error: the Experiment would pass without it.
func (p *pass) begin(a spec.ExperimentAnalysis) {
	want, problems := analysis.Run(a.Analysis, p.Templates, analysis.Source{Arguments: p.fill(a.Arguments)})
	if len(problems) > 0 {
		p.setVerdict(v1alpha1.ExperimentAnalysisRunStatus{
			Name: a.Name, AnalysisRun: spec.ExperimentChildName(p.Experiment.Name, a.Name),
			Phase: v1alpha1.AnalysisPhaseError, Message: problems[0].String(),
		})
		return
	}
	run, begun := analysis.Begin(p.newRun(a, want), p.AnalysisRuns, func(name string) bool {
		failure, refused := p.failureOf(AnalysisRun, name)
		return refused && failure.Taken
	})
	verdict := v1alpha1.ExperimentAnalysisRunStatus{Name: a.Name, AnalysisRun: run.Name}
	if failure, refused := p.failureOf(AnalysisRun, run.Name); refused {
		verdict.Phase = v1alpha1.AnalysisPhaseError
		verdict.Message = fmt.Sprintf("AnalysisRun %q was refused: %s", run.Name, failure.Message)
		p.setVerdict(verdict)
		return
	}
	if !begun {
		p.plan.Judge = append(p.plan.Judge, change.CreateAnalysisRun{Run: run})
		p.journal.Note(change.TopicJudge, "begin analysis "+run.Name, a.Field)
	}
	verdict.Phase, verdict.Message = phaseOf(run), run.Status.Message
	p.setVerdict(verdict)
}

func phaseOf(run *v1alpha1.AnalysisRun) v1alpha1.AnalysisPhase {
	return cmp.Or(run.Status.Phase, v1alpha1.AnalysisPhasePending)
}

func (p *pass) newRun(a spec.ExperimentAnalysis, want v1alpha1.AnalysisRunSpec) *v1alpha1.AnalysisRun {
	labels := map[string]string{}
	if id, ok := p.Experiment.Labels[v1alpha1.InstanceIDLabel]; ok {
		labels[v1alpha1.InstanceIDLabel] = id
	}
	maps.Copy(labels, a.AnalysisRunMetadata.Labels)
	return &v1alpha1.AnalysisRun{
		ObjectMeta: metav1.ObjectMeta{
			Name:            spec.ExperimentChildName(p.Experiment.Name, a.Name),
			Namespace:       p.Experiment.Namespace,
			Labels:          labels,
			Annotations:     maps.Clone(a.AnalysisRunMetadata.Annotations),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(p.Experiment, v1alpha1.ExperimentGVK)},
		},
		Spec: want,
	}
}

// fill puts what is known now in the place of the placeholders in arguments.
func (p *pass) fill(arguments []v1alpha1.Argument) []v1alpha1.Argument {
	since := p.was.AvailableAt.UTC()
	values := map[string]string{
		spec.AvailableAtPlaceholder: since.Format(time.RFC3339),
		spec.FinishedAtPlaceholder:  since.Add(p.spec.Duration).Format(time.RFC3339),
	}
	for _, t := range p.templates {
		hash, set := spec.TemplatePlaceholders(t.Name)
		values[hash] = t.is.PodTemplateHash
		if t.set != nil {
			values[set] = t.set.Name
		}
	}
	filled := slices.Clone(arguments)
	for i := range filled {
		if filled[i].Value != nil {
			filled[i].Value = new(spec.Fill(*filled[i].Value, values))
		}
	}
	return filled
}

// seeRuns repeats how the AnalysisRuns are doing. Of one that is gone it keeps what was last known.
func (p *pass) seeRuns() {
	for _, verdict := range p.was.AnalysisRuns {
		if run := p.run(verdict.AnalysisRun); run != nil && !analysis.Ended(verdict.Phase) {
			verdict.Phase, verdict.Message = phaseOf(run), run.Status.Message
			p.setVerdict(verdict)
		}
	}
}

func (o Observed) run(name string) *v1alpha1.AnalysisRun {
	for _, run := range o.AnalysisRuns {
		if run.Name == name && run.DeletionTimestamp == nil {
			return run
		}
	}
	return nil
}

// verdictOf is what the status has of an analysis, nil for nothing.
func (p *pass) verdictOf(name string) *v1alpha1.ExperimentAnalysisRunStatus {
	for i := range p.is.AnalysisRuns {
		if p.is.AnalysisRuns[i].Name == name {
			return &p.is.AnalysisRuns[i]
		}
	}
	return nil
}

func (p *pass) setVerdict(v v1alpha1.ExperimentAnalysisRunStatus) {
	if have := p.verdictOf(v.Name); have != nil {
		*have = v
		return
	}
	p.is.AnalysisRuns = append(p.is.AnalysisRuns, v)
}

// endRuns ends the AnalysisRuns of an Experiment that has ended.
func (p *pass) endRuns() {
	for _, run := range p.AnalysisRuns {
		if analysis.Ended(run.Status.Phase) || run.Spec.Terminate || run.DeletionTimestamp != nil {
			continue
		}
		to := run.DeepCopy()
		to.Spec.Terminate = true
		p.plan.Judge = append(p.plan.Judge, change.TerminateAnalysisRun{From: run, To: to})
		p.journal.Note(change.TopicJudge, "end analysis "+run.Name, "the Experiment has ended")
		p.journal.Event(v1alpha1.EventAnalysisRunTerminating, "Terminating AnalysisRun '%s'", run.Name)
	}
}
