package view

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// warning are the conditions that are warnings when true.
var warning = []v1alpha1.RolloutConditionType{
	v1alpha1.ConditionCanaryOverload, v1alpha1.ConditionPodMetadataFailure, v1alpha1.ConditionRouteReleaseFailure,
}

// warningsOf are problems that users should know about although they block nothing.
func warningsOf(o Objects) []string {
	var warnings []string
	if text := stableGone(o); text != "" {
		warnings = append(warnings, text)
	}
	for _, c := range o.Rollout.Status.Conditions {
		if c.Status == corev1.ConditionTrue && slices.Contains(warning, c.Type) {
			warnings = append(warnings, c.Message)
		}
	}
	return warnings
}

// stableGone reports an update whose stable version no longer has a ReplicaSet because someone
// deleted it.
func stableGone(o Objects) string {
	s := o.Rollout.Status
	if s.StableRS == "" || s.StableRS == s.CurrentPodHash {
		return "" // of a first deployment, or about to be created again
	}
	for _, rs := range controlled(o.ReplicaSets, o.Rollout) {
		if rs.Labels[v1alpha1.PodTemplateHashLabel] == s.StableRS {
			return ""
		}
	}
	return fmt.Sprintf("the ReplicaSet of the stable version, %s-%s, was deleted: the remaining pods serve, and an abort has no version to return to. "+
		"Promote this update, or apply the template of the version that you want", o.Rollout.Name, s.StableRS)
}
