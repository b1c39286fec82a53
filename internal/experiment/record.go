package experiment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/clean"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// Reasons of the condition Progressing, beside those that Rollouts have too. They are wire format.
const (
	reasonCompleted = "ExperimentCompleted"
	reasonFailed    = "ExperimentFailed"
)

// conclude writes down what this pass saw and decided.
func (p *pass) conclude() {
	p.is.TemplateStatuses = nil
	for _, t := range p.templates {
		if t.is.Status != t.was.Status {
			t.is.LastTransitionTime = new(p.now())
			p.tellTemplate(t)
		}
		p.is.TemplateStatuses = append(p.is.TemplateStatuses, t.is)
	}
	for _, v := range p.is.AnalysisRuns {
		p.tellRun(v)
	}
	p.tellPhase()
	p.setInvalidSpec()
	p.setProgressing()
	p.record()
}

// refuse records that the spec cannot be carried out, and leaves everything else as it is. A person can end it all the same.
func (p *pass) refuse() {
	p.setInvalidSpec()
	p.is.Phase, p.is.Message = cmp.Or(p.was.Phase, v1alpha1.AnalysisPhasePending), "InvalidSpec: "+texts(p.problems)
	if p.Experiment.Spec.Terminate {
		p.is.Phase = v1alpha1.AnalysisPhaseError
		p.tellPhase()
	}
	p.setProgressing()
	p.record()
}

func (p *pass) tellPhase() {
	if p.is.Phase == p.was.Phase {
		return
	}
	reason, before := v1alpha1.EventExperimentPrefix+string(p.is.Phase), cmp.Or(string(p.was.Phase), v1alpha1.NoPreviousStatus)
	p.journal.Report(analysis.Failed(p.is.Phase), reason, "Experiment '%s' transitioned from %s -> %s%s", p.Experiment.Name, before, p.is.Phase, because(p.is.Message))
	p.tellRollout()
}

// tellRollout tells the last event on the Rollout too: who looks at an update finds there how its step goes.
func (p *pass) tellRollout() {
	p.plan.RolloutEvents = append(p.plan.RolloutEvents, p.journal.Events[len(p.journal.Events)-1])
}

func (p *pass) tellTemplate(t *template) {
	bad := t.is.Status == v1alpha1.TemplateStatusFailed || t.is.Status == v1alpha1.TemplateStatusError
	p.journal.Report(bad, v1alpha1.EventTemplatePrefix+string(t.is.Status), "Template '%s' transitioned from %s -> %s%s",
		t.Name, cmp.Or(string(t.was.Status), v1alpha1.NoPreviousStatus), t.is.Status, because(t.is.Message))
}

func (p *pass) tellRun(v v1alpha1.ExperimentAnalysisRunStatus) {
	before := v1alpha1.NoPreviousStatus
	for _, was := range p.was.AnalysisRuns {
		if was.Name == v.Name && was.AnalysisRun == v.AnalysisRun {
			before = string(was.Phase)
		}
	}
	if before == string(v.Phase) {
		return
	}
	p.journal.Report(analysis.Failed(v.Phase), v1alpha1.EventAnalysisRunPrefix+string(v.Phase), "AnalysisRun '%s' transitioned from %s -> %s%s",
		v.AnalysisRun, before, v.Phase, because(v.Message))
	p.tellRollout()
}

func because(message string) string {
	if message == "" {
		return ""
	}
	return ": " + message
}

func texts(problems []spec.Problem) string {
	all := make([]string, len(problems))
	for i, problem := range problems {
		all[i] = problem.String()
	}
	return strings.Join(all, "; ")
}

func (p *pass) setInvalidSpec() {
	if len(p.problems) == 0 || analysis.Ended(p.was.Phase) {
		p.is.Conditions = slices.DeleteFunc(p.is.Conditions, func(c v1alpha1.ExperimentCondition) bool {
			return c.Type == v1alpha1.ExperimentConditionInvalidSpec
		})
		return
	}
	for _, problem := range p.problems {
		p.journal.Note(change.TopicRefuse, problem.Field, problem.Text)
	}
	message := fmt.Sprintf("The Experiment %q is invalid: %s", p.Experiment.Name, texts(p.problems))
	if p.set(v1alpha1.ExperimentConditionInvalidSpec, corev1.ConditionTrue, v1alpha1.ReasonInvalidSpec, message) {
		p.journal.Warn(v1alpha1.ReasonInvalidSpec, "%s", message)
	}
}

func (p *pass) setProgressing() {
	is := func(status corev1.ConditionStatus, reason, text string) {
		p.set(v1alpha1.ExperimentConditionProgressing, status, reason, fmt.Sprintf("Experiment %q %s", p.Experiment.Name, text))
	}
	switch p.is.Phase {
	case v1alpha1.AnalysisPhasePending:
		if len(p.problems) > 0 {
			is(corev1.ConditionFalse, v1alpha1.ReasonInvalidSpec, "does not start: its spec is invalid")
			return
		}
		is(corev1.ConditionTrue, v1alpha1.ReasonReplicaSetUpdated, "is progressing.")
	case v1alpha1.AnalysisPhaseSuccessful:
		is(corev1.ConditionTrue, reasonCompleted, "has run and is complete.")
	case v1alpha1.AnalysisPhaseFailed, v1alpha1.AnalysisPhaseError, v1alpha1.AnalysisPhaseInconclusive:
		is(corev1.ConditionFalse, reasonFailed, fmt.Sprintf("is %s%s", p.is.Phase, because(p.is.Message)))
	case v1alpha1.AnalysisPhaseRunning:
		is(corev1.ConditionTrue, v1alpha1.ReasonNewReplicaSetAvailable, "is running.")
	}
}

// set leaves a condition alone that says the same already, and reports whether it did not.
func (p *pass) set(kind v1alpha1.ExperimentConditionType, status corev1.ConditionStatus, reason, message string) bool {
	now, message := p.now(), clean.Text(message)
	next := v1alpha1.ExperimentCondition{
		Type: kind, Status: status, Reason: reason, Message: message, LastUpdateTime: now, LastTransitionTime: now,
	}
	i := slices.IndexFunc(p.is.Conditions, func(c v1alpha1.ExperimentCondition) bool { return c.Type == kind })
	if i < 0 {
		p.is.Conditions = append(p.is.Conditions, next)
		slices.SortFunc(p.is.Conditions, func(a, b v1alpha1.ExperimentCondition) int { return cmp.Compare(a.Type, b.Type) })
		return true
	}
	have := p.is.Conditions[i]
	if have.Status == status && have.Reason == reason && have.Message == message {
		return false
	}
	if have.Status == status {
		next.LastTransitionTime = have.LastTransitionTime
	}
	p.is.Conditions[i] = next
	return true
}

// record puts the next status into the plan if it differs from what was observed, or if part of the stored one could not be read.
func (p *pass) record() {
	p.cleanMessages()
	if equality.Semantic.DeepEqual(p.was, p.is) && len(p.Experiment.Unreadable.Of("status")) == 0 {
		return
	}
	to := *p.Experiment
	to.Status = *p.is
	p.plan.Record = &Record{From: p.Experiment, To: &to}
}

// cleanMessages keeps what others wrote from steering the terminal of those who read the status.
func (p *pass) cleanMessages() {
	p.is.Message = clean.Text(p.is.Message)
	for i := range p.is.TemplateStatuses {
		p.is.TemplateStatuses[i].Message = clean.Text(p.is.TemplateStatuses[i].Message)
	}
	for i := range p.is.AnalysisRuns {
		p.is.AnalysisRuns[i].Message = clean.Text(p.is.AnalysisRuns[i].Message)
	}
}
