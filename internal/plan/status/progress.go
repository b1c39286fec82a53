package status

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
)

// giveUp aborts the update where the controller has to: an analysis failed, or the deadline has passed and the spec asks for it.
func (p *Status) giveUp() {
	switch {
	case p.update.State() == progress.Aborted:
	case p.update.Failure != "":
		p.update.Abort(p.update.Failure)
	case p.world.Spec.ProgressDeadlineAbort && p.update.State() != progress.Settled:
		if progress, known := p.progress(); known && progress.reason == v1alpha1.ReasonProgressDeadlineExceeded {
			p.update.Abort(p.withTrouble(progress.message)) // which nobody can ask when its pods are gone
		}
	}
}

// progressing is what the condition Progressing says.
type progressing struct {
	status          corev1.ConditionStatus
	reason, message string
	// moved: it counts as progress also where the condition said the same before.
	moved bool
}

// progress tells how the update goes: the first line that fits. Where none does, what was said before still holds.
func (p *Status) progress() (is progressing, known bool) {
	before := p.update.Condition(v1alpha1.ConditionProgressing).Reason
	name := p.world.Rollout.Name + "-" + p.update.Is.CurrentPodHash
	switch {
	case p.update.State() == progress.Aborted:
		message := "Rollout aborted update to revision " + p.update.Revision()
		if p.update.Aborted != "" {
			message += ": " + p.update.Aborted
		}
		return progressing{corev1.ConditionFalse, v1alpha1.ReasonRolloutAborted, message, false}, p.update.Aborted != "" || before != v1alpha1.ReasonRolloutAborted
	case p.draft.Create != nil: // also if someone deleted it: the deadline starts over
		return progressing{corev1.ConditionTrue, v1alpha1.ReasonNewReplicaSetCreated, fmt.Sprintf("Created new replica set %q", name), true}, true
	case p.update.Begun:
		return progressing{corev1.ConditionTrue, v1alpha1.ReasonFoundNewReplicaSet, fmt.Sprintf("Found new replica set %q", name), false}, true
	case p.update.Retried:
		return progressing{corev1.ConditionUnknown, v1alpha1.ReasonRolloutRetry, "Rollout is tried again after an abort", false}, true
	case p.finished(): // before the pause, which holds nothing then
		return progressing{corev1.ConditionTrue, v1alpha1.ReasonNewReplicaSetAvailable, fmt.Sprintf("ReplicaSet %q has successfully progressed.", name), false}, true
	case p.isPaused():
		return progressing{corev1.ConditionUnknown, v1alpha1.ReasonRolloutPaused, "Rollout is paused", false}, true
	case p.resumed():
		return progressing{corev1.ConditionUnknown, v1alpha1.ReasonRolloutResumed, "Rollout is resumed", false}, true
	case p.progressed() || p.repaired() || before == "":
		return progressing{corev1.ConditionTrue, v1alpha1.ReasonReplicaSetUpdated, fmt.Sprintf("ReplicaSet %q is progressing.", name), true}, true
	case before == v1alpha1.ReasonNewReplicaSetAvailable:
		return progressing{corev1.ConditionTrue, v1alpha1.ReasonReplicaSetNotAvailable, fmt.Sprintf("ReplicaSet %q is not fully available.", name), false}, true
	case p.overdue():
		return progressing{corev1.ConditionFalse, v1alpha1.ReasonProgressDeadlineExceeded, fmt.Sprintf("ReplicaSet %q has timed out progressing.", name), false}, true
	}
	return progressing{}, false
}

// setProgressing tells how the update goes. The condition's lastUpdateTime is the last progress, from which the deadline counts.
func (p *Status) setProgressing() {
	is, known := p.progress()
	if !known {
		return
	}
	p.update.Set(v1alpha1.ConditionProgressing, is.status, is.reason, is.message)
	if is.moved {
		p.update.Touch(v1alpha1.ConditionProgressing)
	}
	if is.reason == v1alpha1.ReasonRolloutAborted {
		p.journal.Warn(v1alpha1.ReasonRolloutAborted, "%s", is.message)
	}
}

// progressed reports whether something moved since the last pass.
func (p *Status) progressed() bool {
	was, is := p.update.Was, p.update.Is
	return is.UpdatedReplicas != was.UpdatedReplicas ||
		is.Replicas-is.UpdatedReplicas < was.Replicas-was.UpdatedReplicas ||
		is.ReadyReplicas > was.ReadyReplicas || is.AvailableReplicas > was.AvailableReplicas ||
		is.BlueGreen.ActiveSelector != was.BlueGreen.ActiveSelector || is.BlueGreen.PreviewSelector != was.BlueGreen.PreviewSelector ||
		p.judge.VerdictsMoved() || !equality.Semantic.DeepEqual(is.Canary.Weights, was.Canary.Weights) || is.StableRS != was.StableRS || is.CurrentStepHash != was.CurrentStepHash ||
		!progress.SameIndex(is.CurrentStepIndex, was.CurrentStepIndex)
}

// repaired reports whether the spec was wrong as of the last pass: nothing could progress meanwhile.
func (p *Status) repaired() bool {
	return len(p.update.Problems) == 0 && p.update.WasTrue(v1alpha1.ConditionInvalidSpec)
}

// overdue reports whether the last progress is longer ago than the deadline allows, and asks to be woken when it will be. Once the deadline
// has passed it stays so until there is progress: the condition's time is then that of the timeout. Nothing is overdue during an analysis.
func (p *Status) overdue() bool {
	progressing, judging := p.update.Condition(v1alpha1.ConditionProgressing), p.judge.Judging()
	if progressing.Reason == "" || judging && p.short() == nil && p.draft.Cramped == "" {
		return false
	}
	if deadline := p.deadline(progressing); progressing.Reason != v1alpha1.ReasonProgressDeadlineExceeded && p.world.Now.Before(deadline) {
		p.journal.WakeAt(deadline)
		return false
	}
	return !judging
}

// deadline is when the last progress is too long ago: a whole second on top, since the API stores no fractions, so that it never comes early. Where all
// that is left to do is to wait until an old version has had its time, it does not come before that.
func (p *Status) deadline(progressing v1alpha1.RolloutCondition) time.Time {
	deadline := progressing.LastUpdateTime.Add(p.world.Spec.ProgressDeadline + time.Second)
	if p.update.State() != progress.Settled || p.world.New.Counts().Available < p.world.Spec.Replicas {
		return deadline
	}
	for _, v := range p.world.All() {
		if until := v.Deadline(); until.After(deadline) {
			deadline = until
		}
	}
	return deadline
}
