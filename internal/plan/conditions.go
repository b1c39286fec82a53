package plan

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/clean"
	"github.com/sluice-delivery/sluice/internal/hazard"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// setConditions brings every condition up to date, each by a rule of its own. The events that only conditions know of are told
// here too.
func (p *pass) setConditions() {
	p.setInvalidSpec()
	p.setPaused()
	p.setCompleted()
	p.setAvailable()
	p.setHealthy()
	p.setReplicaFailure()
	p.setPodMetadataFailure()
	p.setOverload()
	p.setProgressing()
	p.tellTrouble()
}

// setInvalidSpec says all that is wrong with the spec, or with the objects that it names.
func (p *pass) setInvalidSpec() {
	problems := p.due()
	if len(problems) == 0 {
		p.remove(v1alpha1.ConditionInvalidSpec)
		return
	}
	texts := make([]string, len(problems))
	for i, problem := range problems {
		texts[i] = problem.String()
		p.Note(change.TopicRefuse, problem.Field, problem.Text)
	}
	message := clean.Text(`The Rollout "` + p.Rollout.Name + `" is invalid: ` + strings.Join(texts, "; "))
	if p.condition(v1alpha1.ConditionInvalidSpec).Message != message {
		p.Warn(v1alpha1.ReasonInvalidSpec, "%s", message)
	}
	p.setTrue(v1alpha1.ConditionInvalidSpec, v1alpha1.ReasonInvalidSpec, message)
}

// comesWith is how long after a Rollout what it names may be created: those who apply a manifest write one object after another, in any
// order.
const comesWith = 2 * time.Second

// due are the problems to report now: not the objects that may be created yet.
func (p *pass) due() []spec.Problem {
	var due []spec.Problem
	for _, problem := range p.problems {
		if !p.mayCome(problem) {
			due = append(due, problem)
			continue
		}
		p.Note(change.TopicWait, problem.Field, problem.Missing+" is not there yet")
		p.WakeAt(p.applied())
	}
	return due
}

// mayCome reports whether what is missing may be created yet, as it is while the Rollout itself is new. An edit that names what does not
// exist is wrong at once: its author had the time to create that first.
func (p *pass) mayCome(problem spec.Problem) bool {
	return problem.Missing != "" && p.Now.Before(p.applied())
}

// applied is when all that was applied together with the Rollout is there. The API stores whole seconds: one second is left at least.
func (p *pass) applied() time.Time { return p.Rollout.CreationTimestamp.Add(comesWith) }

// setPaused is there from the first pause on.
func (p *pass) setPaused() {
	before, now := p.wasTrue(v1alpha1.ConditionPaused), p.isPaused()
	if !before && !now {
		return
	}
	p.set(v1alpha1.ConditionPaused, truth(now), v1alpha1.ReasonRolloutPaused, "Rollout is paused")
	switch {
	case now && !before:
		p.Event(v1alpha1.ReasonRolloutPaused, "Rollout is paused (%s)", p.pauseReason())
	case p.resumed():
		p.Event(v1alpha1.ReasonRolloutResumed, "Rollout is resumed")
	}
}

// resumed reports whether what held the update as of the last pass holds it no more.
func (p *pass) resumed() bool {
	return p.wasTrue(v1alpha1.ConditionPaused) && !p.isPaused() && !p.is.Abort
}

func (p *pass) isPaused() bool { return p.spec.Paused || len(p.is.PauseConditions) > 0 }

func (p *pass) pauseReason() string {
	if len(p.is.PauseConditions) > 0 {
		return string(p.is.PauseConditions[0].Reason)
	}
	return "spec.paused"
}

// setCompleted tells whether the current version is the stable one.
func (p *pass) setCompleted() {
	before := p.wasTrue(v1alpha1.ConditionCompleted)
	p.set(v1alpha1.ConditionCompleted, truth(p.promoted()), v1alpha1.ReasonRolloutCompleted, v1alpha1.ReasonRolloutCompleted)
	if before && !p.promoted() {
		p.Event(v1alpha1.EventRolloutNotCompleted, "Rollout not completed, started update to revision %s (%s)", p.revision(), p.is.CurrentPodHash)
	}
}

func (p *pass) setAvailable() {
	if p.is.AvailableReplicas >= p.spec.Replicas {
		p.setTrue(v1alpha1.ConditionAvailable, v1alpha1.ReasonAvailable, "Rollout has minimum availability")
		return
	}
	p.set(v1alpha1.ConditionAvailable, corev1.ConditionFalse, v1alpha1.ReasonAvailable, "Rollout does not have minimum availability")
}

func (p *pass) setHealthy() {
	if p.healthy() {
		p.setTrue(v1alpha1.ConditionHealthy, v1alpha1.ReasonRolloutHealthy, "Rollout is healthy")
		return
	}
	p.set(v1alpha1.ConditionHealthy, corev1.ConditionFalse, v1alpha1.ReasonRolloutHealthy, "Rollout is not healthy")
}

// healthy is the state in which everything is as the spec asks for it.
func (p *pass) healthy() bool { return p.finished() && p.labelled() }

// finished is the state in which no pod is left to come or go: all are of the current version and available.
func (p *pass) finished() bool {
	s, want := p.is, p.spec.Replicas+p.surging()
	if slices.ContainsFunc(p.problems, p.mayCome) {
		return false // what is left may be to send traffic by it
	}
	if b, ok := p.spec.Strategy.(spec.BlueGreen); ok { // old stacks that are kept for a while do not make it less healthy
		return p.promoted() && s.UpdatedReplicas == want && s.AvailableReplicas == want &&
			s.BlueGreen.ActiveSelector == s.CurrentPodHash &&
			(b.PreviewService == "" || s.BlueGreen.PreviewSelector == s.CurrentPodHash)
	}
	return p.promoted() && p.at() == p.stepCount() &&
		s.Replicas == want && s.UpdatedReplicas == want && s.AvailableReplicas == want
}

// setReplicaFailure repeats what the ReplicaSet controller says of pods that it cannot create, the new version's first.
func (p *pass) setReplicaFailure() {
	for _, v := range p.all() {
		for _, c := range v.Status.Conditions {
			if string(c.Type) == string(v1alpha1.ConditionReplicaFailure) && c.Status == corev1.ConditionTrue {
				p.setTrue(v1alpha1.ConditionReplicaFailure, c.Reason, c.Message)
				return
			}
		}
	}
	p.remove(v1alpha1.ConditionReplicaFailure)
}

// setOverload warns while the steps give the canary more traffic than pods for it, as setCanaryScale allows. Where no update goes on, no
// pod gets it.
func (p *pass) setOverload() {
	var texts []string
	for _, h := range hazard.Of(p.Rollout) {
		if h.Kind == hazard.CanaryOverload {
			texts = append(texts, h.String())
		}
	}
	if len(texts) == 0 {
		p.remove(v1alpha1.ConditionCanaryOverload)
		return
	}
	idle := p.promoted() || p.is.Abort
	p.set(v1alpha1.ConditionCanaryOverload, truth(!idle), v1alpha1.ReasonCanaryOverload, strings.Join(texts, "; "))
}

// condition is the condition as it stands in the status being written, the zero value if there is none.
func (p *pass) condition(kind v1alpha1.RolloutConditionType) v1alpha1.RolloutCondition {
	if i := p.index(kind); i >= 0 {
		return p.is.Conditions[i]
	}
	return v1alpha1.RolloutCondition{}
}

// wasTrue reports whether a condition was true as of the last pass.
func (p *pass) wasTrue(kind v1alpha1.RolloutConditionType) bool {
	return slices.ContainsFunc(p.was.Conditions, func(c v1alpha1.RolloutCondition) bool {
		return c.Type == kind && c.Status == corev1.ConditionTrue
	})
}

func (p *pass) index(kind v1alpha1.RolloutConditionType) int {
	return slices.IndexFunc(p.is.Conditions, func(c v1alpha1.RolloutCondition) bool { return c.Type == kind })
}

func (p *pass) setTrue(kind v1alpha1.RolloutConditionType, reason, message string) {
	p.set(kind, corev1.ConditionTrue, reason, message)
}

// set leaves a condition alone that says the same already. The transition time moves only with the status. What others wrote steers nobody's
// terminal.
func (p *pass) set(kind v1alpha1.RolloutConditionType, status corev1.ConditionStatus, reason, message string) {
	now, message := p.now(), clean.Text(message)
	next := v1alpha1.RolloutCondition{
		Type: kind, Status: status, Reason: reason, Message: message, LastUpdateTime: now, LastTransitionTime: now,
	}
	i := p.index(kind)
	if i < 0 {
		p.is.Conditions = append(p.is.Conditions, next)
		slices.SortFunc(p.is.Conditions, func(a, b v1alpha1.RolloutCondition) int { return cmp.Compare(a.Type, b.Type) })
		return
	}
	have := p.is.Conditions[i]
	if have.Status == status && have.Reason == reason && plain(have.Message) == message {
		return
	}
	if have.Status == status {
		next.LastTransitionTime = have.LastTransitionTime
	}
	p.is.Conditions[i] = next
}

// touch notes progress on a condition that says the same as before.
func (p *pass) touch(kind v1alpha1.RolloutConditionType) {
	p.is.Conditions[p.index(kind)].LastUpdateTime = p.now()
}

func (p *pass) remove(kind v1alpha1.RolloutConditionType) {
	p.is.Conditions = slices.DeleteFunc(p.is.Conditions, func(c v1alpha1.RolloutCondition) bool { return c.Type == kind })
}

func truth(b bool) corev1.ConditionStatus {
	if b {
		return corev1.ConditionTrue
	}
	return corev1.ConditionFalse
}
