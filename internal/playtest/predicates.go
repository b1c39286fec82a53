package playtest

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Observed reports whether the status speaks of the present spec.
func Observed(ro *v1alpha1.Rollout) bool {
	return ro.Status.ObservedGeneration == strconv.FormatInt(ro.Generation, 10)
}

// Healthy reports whether all of the Rollout runs its present template.
func Healthy(ro *v1alpha1.Rollout) bool {
	return Observed(ro) && ro.Status.Phase == v1alpha1.RolloutPhaseHealthy
}

// Paused reports whether the Rollout holds.
func Paused(ro *v1alpha1.Rollout) bool {
	return Observed(ro) && ro.Status.Phase == v1alpha1.RolloutPhasePaused
}

// Degraded reports whether the Rollout has come to a bad end.
func Degraded(ro *v1alpha1.Rollout) bool {
	return Observed(ro) && ro.Status.Phase == v1alpha1.RolloutPhaseDegraded
}

// AtStep returns a predicate: the canary is paused at this step.
func AtStep(index int32) func(*v1alpha1.Rollout) bool {
	return func(ro *v1alpha1.Rollout) bool {
		return Paused(ro) && ro.Status.CurrentStepIndex != nil && *ro.Status.CurrentStepIndex == index
	}
}

// since makes a watch begin where the list ended.
func since(list client.ObjectList) *metav1.ListOptions {
	return &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}
}
