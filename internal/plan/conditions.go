package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
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
	p.setOverload()
	p.setProgressing()
	p.tellTrouble()
}

// setInvalidSpec says all that is wrong with the spec, or with the objects that it names.
func (p *pass) setInvalidSpec() {
	problems := p.due()
	if len(problems) == 0 {
		p.mended = p.condition(v1alpha1.ConditionInvalidSpec).Status == corev1.ConditionTrue
		p.remove(v1alpha1.ConditionInvalidSpec)
		return
	}
	texts := make([]string, len(problems))
	for i, problem := range problems {
		texts[i] = problem.String()
		p.note(TopicRefuse, problem.Field, problem.Text)
	}
	message := `The Rollout "` + p.Rollout.Name + `" is invalid: ` + strings.Join(texts, "; ")
	if p.condition(v1alpha1.ConditionInvalidSpec).Message != message {
		p.warn(v1alpha1.ReasonInvalidSpec, "%s", message)
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
		p.note(TopicWait, problem.Field, problem.Missing+" is not there yet")
		p.wake(p.applied())
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
	before := p.condition(v1alpha1.ConditionPaused).Status == corev1.ConditionTrue
	now := p.isPaused()
	if !before && !now {
		return
	}
	p.set(v1alpha1.ConditionPaused, truth(now), v1alpha1.ReasonRolloutPaused, "Rollout is paused")
	switch {
	case now && !before:
		p.event(v1alpha1.ReasonRolloutPaused, "Rollout is paused (%s)", p.pauseReason())
	case before && !now && !p.is.Abort:
		p.resumed = true
		p.event(v1alpha1.ReasonRolloutResumed, "Rollout is resumed")
	}
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
	before := p.condition(v1alpha1.ConditionCompleted).Status == corev1.ConditionTrue
	p.set(v1alpha1.ConditionCompleted, truth(p.promoted()), v1alpha1.ReasonRolloutCompleted, v1alpha1.ReasonRolloutCompleted)
	if before && !p.promoted() {
		p.event(v1alpha1.EventRolloutNotCompleted, "Rollout not completed, started update to revision %s (%s)", p.revision(), p.is.CurrentPodHash)
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

// healthy is the state in which nothing is left to do: all pods are of the current version and available.
func (p *pass) healthy() bool {
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

// setOverload warns while the steps give the canary more traffic than pods for it, as setCanaryScale allows.
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
	p.setTrue(v1alpha1.ConditionCanaryOverload, v1alpha1.ReasonCanaryOverload, strings.Join(texts, "; "))
}

// setProgressing tells how the update goes: the first line that fits. Its lastUpdateTime is the last progress, from which the
// deadline counts.
func (p *pass) setProgressing() {
	is := func(status corev1.ConditionStatus, reason, format string, args ...any) {
		p.set(v1alpha1.ConditionProgressing, status, reason, fmt.Sprintf(format, args...))
	}
	before := p.condition(v1alpha1.ConditionProgressing).Reason
	name := p.Rollout.Name + "-" + p.is.CurrentPodHash
	switch {
	case p.failure != "":
		p.abort(p.failure)
	case p.is.Abort:
		if before != v1alpha1.ReasonRolloutAborted {
			p.abort("")
		}
	case p.create != nil: // also where someone deleted it: the deadline counts anew
		is(corev1.ConditionTrue, v1alpha1.ReasonNewReplicaSetCreated, "Created new replica set %q", name)
		p.touch(v1alpha1.ConditionProgressing)
	case p.begun:
		is(corev1.ConditionTrue, v1alpha1.ReasonFoundNewReplicaSet, "Found new replica set %q", name)
	case p.retried:
		is(corev1.ConditionUnknown, v1alpha1.ReasonRolloutRetry, "Rollout is tried again after an abort")
	case p.isPaused():
		is(corev1.ConditionUnknown, v1alpha1.ReasonRolloutPaused, "Rollout is paused")
	case p.healthy():
		is(corev1.ConditionTrue, v1alpha1.ReasonNewReplicaSetAvailable, "ReplicaSet %q has successfully progressed.", name)
	case p.resumed:
		is(corev1.ConditionUnknown, v1alpha1.ReasonRolloutResumed, "Rollout is resumed")
	case p.progressed() || p.mended || before == "": // while the spec was wrong nothing could progress
		is(corev1.ConditionTrue, v1alpha1.ReasonReplicaSetUpdated, "ReplicaSet %q is progressing.", name)
		p.touch(v1alpha1.ConditionProgressing)
	case before == v1alpha1.ReasonNewReplicaSetAvailable:
		is(corev1.ConditionTrue, v1alpha1.ReasonReplicaSetNotAvailable, "ReplicaSet %q is not fully available.", name)
	case p.overdue():
		if message := fmt.Sprintf("ReplicaSet %q has timed out progressing.", name); p.spec.ProgressDeadlineAbort && !p.promoted() {
			p.abort(message)
		} else {
			is(corev1.ConditionFalse, v1alpha1.ReasonProgressDeadlineExceeded, "%s", message)
		}
	}
}

// abort records that the update was given up, by a person or, with a message, by the controller.
func (p *pass) abort(why string) {
	message := "Rollout aborted update to revision " + p.revision()
	if why != "" {
		message += ": " + why
	}
	s := p.is
	if !s.Abort {
		now := p.now()
		s.Abort, s.AbortedAt, s.PromoteFull = true, &now, false
		s.PauseConditions, s.ControllerPause = nil, false
		p.goTo(0)
		p.note(TopicUpdate, "aborted: back to the stable version", why)
	}
	p.set(v1alpha1.ConditionProgressing, corev1.ConditionFalse, v1alpha1.ReasonRolloutAborted, message)
	p.warn(v1alpha1.ReasonRolloutAborted, "%s", message)
}

// progressed reports whether something moved since the last pass.
func (p *pass) progressed() bool {
	was, is := p.was, p.is
	return is.UpdatedReplicas != was.UpdatedReplicas ||
		is.Replicas-is.UpdatedReplicas < was.Replicas-was.UpdatedReplicas ||
		is.ReadyReplicas > was.ReadyReplicas || is.AvailableReplicas > was.AvailableReplicas ||
		is.BlueGreen.ActiveSelector != was.BlueGreen.ActiveSelector || is.BlueGreen.PreviewSelector != was.BlueGreen.PreviewSelector ||
		p.verdictsMoved() || !equality.Semantic.DeepEqual(is.Canary.Weights, was.Canary.Weights) || is.StableRS != was.StableRS || is.CurrentStepHash != was.CurrentStepHash ||
		!sameIndex(is.CurrentStepIndex, was.CurrentStepIndex)
}

func sameIndex(a, b *int32) bool { return a == b || a != nil && b != nil && *a == *b }

// overdue reports whether the last progress is longer ago than the deadline allows, and asks to be woken when it will be.
func (p *pass) overdue() bool {
	progressing := p.condition(v1alpha1.ConditionProgressing)
	if p.judging() || p.delays() || progressing.Reason == "" || progressing.Reason == v1alpha1.ReasonProgressDeadlineExceeded {
		return false
	}
	// A whole second on top, since the API stores no fractions: the deadline never comes early.
	deadline := progressing.LastUpdateTime.Add(p.spec.ProgressDeadline + time.Second)
	if p.Now.Before(deadline) {
		p.wake(deadline)
		return false
	}
	return true
}

// delays reports whether all that is left to do is to wait until an old version has had its time.
func (p *pass) delays() bool {
	if !p.promoted() || p.new.fleet().available < p.spec.Replicas {
		return false
	}
	return slices.ContainsFunc(p.all(), func(v *version) bool { return v.delaying(p.Now) })
}

// condition is the condition as it stands in the status being written, the zero value if there is none.
func (p *pass) condition(kind v1alpha1.RolloutConditionType) v1alpha1.RolloutCondition {
	if i := p.index(kind); i >= 0 {
		return p.is.Conditions[i]
	}
	return v1alpha1.RolloutCondition{}
}

func (p *pass) index(kind v1alpha1.RolloutConditionType) int {
	return slices.IndexFunc(p.is.Conditions, func(c v1alpha1.RolloutCondition) bool { return c.Type == kind })
}

func (p *pass) setTrue(kind v1alpha1.RolloutConditionType, reason, message string) {
	p.set(kind, corev1.ConditionTrue, reason, message)
}

// set leaves a condition alone that says the same already. The transition time moves only with the status.
func (p *pass) set(kind v1alpha1.RolloutConditionType, status corev1.ConditionStatus, reason, message string) {
	now := p.now()
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
	if have.Status == status && have.Reason == reason && isPlain(have.Message, message) {
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
