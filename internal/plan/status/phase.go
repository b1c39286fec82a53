package status

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
)

// phase sums the status up in a word and a sentence: the first line that fits. Argo CD, the kubectl plugin and people's scripts
// read both, so words and order are wire format (behaviour.md A13.3).
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
	case s.UpdatedReplicas < p.world.Spec.Replicas:
		return v1alpha1.RolloutPhaseProgressing, "more replicas need to be updated"
	case s.AvailableReplicas < s.UpdatedReplicas:
		return v1alpha1.RolloutPhaseProgressing, "updated replicas are still becoming available"
	case p.world.IsRouted() && p.update.State() == progress.Settled && p.world.New.Fleet().Available < p.world.Spec.Replicas: // the others' pods are of no use to it
		return v1alpha1.RolloutPhaseProgressing, "updated replicas are still becoming available"
	case p.world.IsBlueGreen() && s.BlueGreen.ActiveSelector != s.CurrentPodHash:
		return v1alpha1.RolloutPhaseProgressing, "active service cutover pending"
	case p.world.IsBlueGreen() && p.update.State() != progress.Settled && p.judge.AwaitsVerdict():
		return v1alpha1.RolloutPhaseProgressing, "waiting for analysis to complete"
	case p.world.IsBlueGreen() && p.update.State() != progress.Settled:
		return v1alpha1.RolloutPhaseProgressing, "waiting for post-promotion verification to complete"
	case !p.world.IsBlueGreen() && !p.world.IsRouted() && s.Replicas > s.UpdatedReplicas:
		return v1alpha1.RolloutPhaseProgressing, "old replicas are pending termination"
	case p.update.State() != progress.Settled:
		return v1alpha1.RolloutPhaseProgressing, "waiting for all steps to complete"
	case !p.labels.Labelled():
		return v1alpha1.RolloutPhaseProgressing, "pod labels and annotations are still being updated"
	}
	return v1alpha1.RolloutPhaseHealthy, ""
}
