package controller

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan"
)

// ownerIndex is the cache index of objects by the UID of the Rollout or Experiment that controls them.
const ownerIndex = "controller-uid"

func indexOwner(obj client.Object) []string {
	owner := metav1.GetControllerOfNoCopy(obj)
	if owner == nil || owner.Kind != v1alpha1.KindRollout && owner.Kind != v1alpha1.KindExperiment {
		return nil
	}
	return []string{string(owner.UID)}
}

// observe reads what a decision about the Rollout depends on.
func (r *Rollouts) observe(ctx context.Context, key types.NamespacedName) (plan.Observed, error) {
	var rollout v1alpha1.Rollout
	if err := r.client.Get(ctx, key, &rollout); err != nil {
		return plan.Observed{}, err
	}
	var sets appsv1.ReplicaSetList
	err := r.client.List(ctx, &sets, client.InNamespace(key.Namespace),
		client.MatchingFields{ownerIndex: string(rollout.UID)}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return plan.Observed{}, fmt.Errorf("list the ReplicaSets of %s: %w", key, err)
	}
	seen := plan.Observed{Now: r.clock.Now(), Rollout: &rollout}
	versions := map[types.UID]string{rollout.UID: rollout.ResourceVersion}
	for i := range sets.Items {
		set := &sets.Items[i]
		seen.ReplicaSets = append(seen.ReplicaSets, set)
		versions[set.UID] = set.ResourceVersion
	}
	if err := r.observeAnalyses(ctx, &seen, versions); err != nil {
		return plan.Observed{}, err
	}
	var experiments v1alpha1.ExperimentList
	err = r.client.List(ctx, &experiments, client.InNamespace(key.Namespace),
		client.MatchingFields{ownerIndex: string(rollout.UID)}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return plan.Observed{}, fmt.Errorf("list the Experiments of %s: %w", key, err)
	}
	for i := range experiments.Items {
		seen.Experiments = append(seen.Experiments, &experiments.Items[i])
		versions[experiments.Items[i].UID] = experiments.Items[i].ResourceVersion
	}
	if err := r.observeServices(ctx, &seen, versions); err != nil {
		return plan.Observed{}, err
	}
	if err := r.observeRoutes(ctx, &seen, versions); err != nil {
		return plan.Observed{}, err
	}
	if err := r.observeWorkload(ctx, &seen, versions); err != nil {
		return plan.Observed{}, err
	}
	if err := r.catchUp(ctx, key, versions, seen.Now); err != nil {
		return plan.Observed{}, err
	}
	return seen, nil
}
