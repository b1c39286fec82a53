package plan

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
)

// giveUp aborts the update where the controller has to: an analysis failed, or the deadline has passed and the spec asks for it.
func (p *pass) giveUp() {
	switch {
	case p.is.Abort:
	case p.failure != "":
		p.abort(p.failure)
	case p.spec.ProgressDeadlineAbort && !p.promoted():
		if progress, known := p.progress(); known && progress.reason == v1alpha1.ReasonProgressDeadlineExceeded {
			p.abort(p.withTrouble(progress.message)) // which nobody can ask when its pods are gone
		}
	}
}

// abort aborts the update on the controller's own account.
func (p *pass) abort(why string) {
	s, now := p.is, p.now()
	s.Abort, s.AbortedAt, s.PromoteFull = true, &now, false
	s.PauseConditions, s.ControllerPause = nil, false
	p.goTo(0)
	p.aborted = why
	p.Note(change.TopicUpdate, "aborted: back to the stable version", why)
}

// progress is what the condition Progressing says.
type progress struct {
	status          corev1.ConditionStatus
	reason, message string
	// moved: it counts as progress also where the condition said the same before.
	moved bool
}

// progress tells how the update goes: the first line that fits. Where none does, what was said before still holds.
func (p *pass) progress() (is progress, known bool) {
	before := p.condition(v1alpha1.ConditionProgressing).Reason
	name := p.Rollout.Name + "-" + p.is.CurrentPodHash
	switch {
	case p.is.Abort:
		message := "Rollout aborted update to revision " + p.revision()
		if p.aborted != "" {
			message += ": " + p.aborted
		}
		return progress{corev1.ConditionFalse, v1alpha1.ReasonRolloutAborted, message, false}, p.aborted != "" || before != v1alpha1.ReasonRolloutAborted
	case p.create != nil: // also where someone deleted it: the deadline counts anew
		return progress{corev1.ConditionTrue, v1alpha1.ReasonNewReplicaSetCreated, fmt.Sprintf("Created new replica set %q", name), true}, true
	case p.begun:
		return progress{corev1.ConditionTrue, v1alpha1.ReasonFoundNewReplicaSet, fmt.Sprintf("Found new replica set %q", name), false}, true
	case p.retried:
		return progress{corev1.ConditionUnknown, v1alpha1.ReasonRolloutRetry, "Rollout is tried again after an abort", false}, true
	case p.finished(): // before the pause, which holds nothing then
		return progress{corev1.ConditionTrue, v1alpha1.ReasonNewReplicaSetAvailable, fmt.Sprintf("ReplicaSet %q has successfully progressed.", name), false}, true
	case p.isPaused():
		return progress{corev1.ConditionUnknown, v1alpha1.ReasonRolloutPaused, "Rollout is paused", false}, true
	case p.resumed():
		return progress{corev1.ConditionUnknown, v1alpha1.ReasonRolloutResumed, "Rollout is resumed", false}, true
	case p.progressed() || p.repaired() || before == "":
		return progress{corev1.ConditionTrue, v1alpha1.ReasonReplicaSetUpdated, fmt.Sprintf("ReplicaSet %q is progressing.", name), true}, true
	case before == v1alpha1.ReasonNewReplicaSetAvailable:
		return progress{corev1.ConditionTrue, v1alpha1.ReasonReplicaSetNotAvailable, fmt.Sprintf("ReplicaSet %q is not fully available.", name), false}, true
	case p.overdue():
		return progress{corev1.ConditionFalse, v1alpha1.ReasonProgressDeadlineExceeded, fmt.Sprintf("ReplicaSet %q has timed out progressing.", name), false}, true
	}
	return progress{}, false
}

// setProgressing tells how the update goes. The condition's lastUpdateTime is the last progress, from which the deadline counts.
func (p *pass) setProgressing() {
	is, known := p.progress()
	if !known {
		return
	}
	p.set(v1alpha1.ConditionProgressing, is.status, is.reason, is.message)
	if is.moved {
		p.touch(v1alpha1.ConditionProgressing)
	}
	if is.reason == v1alpha1.ReasonRolloutAborted {
		p.Warn(v1alpha1.ReasonRolloutAborted, "%s", is.message)
	}
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

// repaired reports whether the spec was wrong as of the last pass: nothing could progress meanwhile.
func (p *pass) repaired() bool {
	return len(p.problems) == 0 && p.wasTrue(v1alpha1.ConditionInvalidSpec)
}

// overdue reports whether the last progress is longer ago than the deadline allows, and asks to be woken when it will be. Once the deadline
// has passed it stays so until there is progress: the condition's time is then that of the timeout.
func (p *pass) overdue() bool {
	progressing := p.condition(v1alpha1.ConditionProgressing)
	if p.judging() || p.delays() || progressing.Reason == "" {
		return false
	}
	if progressing.Reason == v1alpha1.ReasonProgressDeadlineExceeded {
		return true
	}
	// A whole second on top, since the API stores no fractions: the deadline never comes early.
	deadline := progressing.LastUpdateTime.Add(p.spec.ProgressDeadline + time.Second)
	if p.Now.Before(deadline) {
		p.WakeAt(deadline)
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
