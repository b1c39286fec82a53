package status

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
)

// phase sums the status up in a word and a sentence: the first line that fits. Argo CD, the kubectl plugin and users' scripts
// read both, so words and order are wire format.
func (p *Status) phase() (v1alpha1.RolloutPhase, string) {
	s := p.update.Is
	if c := p.update.Condition(v1alpha1.ConditionInvalidSpec); c.Status == corev1.ConditionTrue {
		return v1alpha1.RolloutPhaseDegraded, c.Reason + ": " + c.Message
	}
	switch c := p.update.Condition(v1alpha1.ConditionProgressing); c.Reason {
	case v1alpha1.ReasonRolloutAborted, v1alpha1.ReasonProgressDeadlineExceeded:
		return v1alpha1.RolloutPhaseDegraded, c.Reason + ": " + c.Message
	}
	awaited := slices.IndexFunc(p.update.Problems, p.mayCome)
	switch {
	case p.world.Spec.Paused:
		return v1alpha1.RolloutPhasePaused, "manually paused"
	case len(s.PauseConditions) > 0:
		return v1alpha1.RolloutPhasePaused, string(s.PauseConditions[0].Reason)
	case awaited >= 0:
		return v1alpha1.RolloutPhaseProgressing, "waiting for " + p.update.Problems[awaited].Missing + " to be created"
	case p.update.IsRestarting():
		return v1alpha1.RolloutPhaseProgressing, "rollout is restarting"
	}
	for _, missing := range []func() string{p.missingPods, p.missingSteps} {
		if text := missing(); text != "" {
			return v1alpha1.RolloutPhaseProgressing, text
		}
	}
	if !p.labels.Labelled() {
		return v1alpha1.RolloutPhaseProgressing, "pod labels and annotations are still being updated"
	}
	return v1alpha1.RolloutPhaseHealthy, ""
}

// missingPods says which pods of the new version are waited for, empty if none are.
func (p *Status) missingPods() string {
	s := p.update.Is
	switch {
	case s.UpdatedReplicas < p.world.Spec.Replicas:
		return "more replicas need to be updated"
	case s.AvailableReplicas < s.UpdatedReplicas:
		return "updated replicas are still becoming available"
	case p.world.IsRouted() && p.update.State() == progress.Settled && p.world.New.Counts().Available < p.world.Spec.Replicas: // the others' pods are of no use to it
		return "updated replicas are still becoming available"
	}
	return ""
}

// missingSteps says what of the update is waited for, empty if it is over.
func (p *Status) missingSteps() string {
	s, settled := p.update.Is, p.update.State() == progress.Settled
	switch {
	case p.world.IsBlueGreen() && s.BlueGreen.ActiveSelector != s.CurrentPodHash:
		return "active service cutover pending"
	case p.world.IsBlueGreen() && !settled && p.judge.AwaitsVerdict():
		return "waiting for analysis to complete"
	case p.world.IsBlueGreen() && !settled:
		return "waiting for post-promotion verification to complete"
	case !p.world.IsBlueGreen() && !p.world.IsRouted() && s.Replicas > s.UpdatedReplicas:
		return "old replicas are pending termination"
	case !settled:
		return "waiting for all steps to complete"
	}
	return ""
}
