package controller

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan"
)

// ownerIndex is the cache index of objects by the UID of the Rollout or Experiment that controls them.
const ownerIndex = "controller-uid"

// nobody is the value of the index for ReplicaSets that nothing controls.
const nobody = "nobody"

func indexSet(obj client.Object) []string {
	if metav1.GetControllerOfNoCopy(obj) == nil {
		return []string{nobody}
	}
	return indexOwner(obj)
}

func indexOwner(obj client.Object) []string {
	owner := metav1.GetControllerOfNoCopy(obj)
	if owner == nil || owner.Kind != v1alpha1.KindRollout && owner.Kind != v1alpha1.KindExperiment {
		return nil
	}
	return []string{string(owner.UID)}
}

// observe reads what a decision about the Rollout depends on.
func (r *RolloutReconciler) observe(ctx context.Context, key types.NamespacedName) (plan.Observed, error) {
	var rollout v1alpha1.Rollout
	if err := r.client.Get(ctx, key, &rollout); err != nil {
		return plan.Observed{}, err
	}
	seen := plan.Observed{Now: r.clock.Now(), Policy: r.policy, Rollout: &rollout}
	versions := map[types.UID]string{rollout.UID: rollout.ResourceVersion}
	var err error
	if seen.ReplicaSets, err = r.setsOf(ctx, key, string(rollout.UID), versions); err != nil {
		return plan.Observed{}, err
	}
	if seen.Orphans, err = r.setsOf(ctx, key, nobody, versions); err != nil {
		return plan.Observed{}, err
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
	if err := r.observeExperiment(ctx, &seen); err != nil {
		return plan.Observed{}, err
	}
	if err := r.observeServices(ctx, &seen, versions); err != nil {
		return plan.Observed{}, err
	}
	if err := r.observeRoutes(ctx, &seen, versions); err != nil {
		return plan.Observed{}, r.tellNoRights(ctx, &rollout, err)
	}
	if err := r.observeWorkload(ctx, &seen, versions); err != nil {
		return plan.Observed{}, err
	}
	if err := r.catchUp(ctx, key, versions, seen.Now); err != nil {
		return plan.Observed{}, err
	}
	seen.StepAnswers = r.steps.answers(&rollout)
	seen.PodRefusals, seen.RouteRefusals = r.memory.refusals(key, refusedPods), r.memory.refusals(key, refusedRoutes)
	return seen, nil
}

// observeExperiment adds what the Experiment of the current step controls.
func (r *RolloutReconciler) observeExperiment(ctx context.Context, seen *plan.Observed) error {
	current := seen.Rollout.Status.Canary.CurrentExperiment
	i := slices.IndexFunc(seen.Experiments, func(ex *v1alpha1.Experiment) bool { return ex.Name == current })
	if i < 0 {
		return nil
	}
	owned := []client.ListOption{
		client.InNamespace(seen.Rollout.Namespace), client.MatchingFields{ownerIndex: string(seen.Experiments[i].UID)}, client.UnsafeDisableDeepCopy,
	}
	var sets appsv1.ReplicaSetList
	var services corev1.ServiceList
	for _, list := range []client.ObjectList{&sets, &services} {
		if err := r.client.List(ctx, list, owned...); err != nil {
			return fmt.Errorf("list what belongs to experiment %s: %w", current, err)
		}
	}
	for i := range sets.Items {
		seen.ExperimentSets = append(seen.ExperimentSets, &sets.Items[i])
	}
	for i := range services.Items {
		seen.ExperimentServices = append(seen.ExperimentServices, &services.Items[i])
	}
	return nil
}

// setsOf are the ReplicaSets in a Rollout's namespace that an owner controls.
func (r *RolloutReconciler) setsOf(ctx context.Context, key types.NamespacedName, owner string, versions map[types.UID]string) ([]*appsv1.ReplicaSet, error) {
	var list appsv1.ReplicaSetList
	err := r.client.List(ctx, &list, client.InNamespace(key.Namespace), client.MatchingFields{ownerIndex: owner}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list the ReplicaSets of %s: %w", key, err)
	}
	var sets []*appsv1.ReplicaSet
	for i := range list.Items {
		sets = append(sets, &list.Items[i])
		versions[list.Items[i].UID] = list.Items[i].ResourceVersion
	}
	return sets, nil
}

// lookAtRollout makes sure that a Rollout exists and is not being deleted. If it is, an event about that will follow.
func (r *RolloutReconciler) lookAtRollout(ctx context.Context, seen *plan.Observed) error {
	var now v1alpha1.Rollout
	err := r.live.Get(ctx, client.ObjectKeyFromObject(seen.Rollout), &now)
	switch {
	case apierrors.IsNotFound(err):
		return errBehind
	case err != nil:
		return fmt.Errorf("read rollout %s: %w", seen.Rollout.Name, err)
	case now.UID != seen.Rollout.UID || now.DeletionTimestamp != nil:
		return errBehind
	}
	seen.RolloutLive = true
	return nil
}

// lookAtExperiment reads an Experiment from the API server.
func (r *RolloutReconciler) lookAtExperiment(ctx context.Context, seen *plan.Observed, name string) error {
	seen.LiveExperiment = name
	seen.Experiments = slices.DeleteFunc(slices.Clone(seen.Experiments), func(ex *v1alpha1.Experiment) bool { return ex.Name == name })
	var ex v1alpha1.Experiment
	err := r.live.Get(ctx, client.ObjectKey{Namespace: seen.Rollout.Namespace, Name: name}, &ex)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read experiment %s: %w", name, err)
	case metav1.IsControlledBy(&ex, seen.Rollout):
		seen.Experiments = append(seen.Experiments, &ex)
	}
	return nil
}
