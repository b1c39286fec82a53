package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
)

// lookAtPods reads the pods of one version from the API server.
func (r *RolloutReconciler) lookAtPods(ctx context.Context, seen *plan.Observed, hash string) error {
	var pods corev1.PodList
	err := r.live.List(ctx, &pods, client.InNamespace(seen.Rollout.Namespace), client.MatchingLabels{v1alpha1.PodTemplateHashLabel: hash})
	if err != nil {
		return fmt.Errorf("list the pods of %s: %w", hash, err)
	}
	if seen.Pods == nil {
		seen.Pods = map[string][]*corev1.Pod{}
	}
	seen.Pods[hash] = []*corev1.Pod{} // looked at, even if there are none
	for i := range pods.Items {
		if isOurs(&pods.Items[i], seen) {
			seen.Pods[hash] = append(seen.Pods[hash], &pods.Items[i])
		}
	}
	return nil
}

// isOurs reports whether a pod belongs to one of the Rollout's ReplicaSets: others may have the same hash by chance.
func isOurs(pod *corev1.Pod, seen *plan.Observed) bool {
	for _, set := range seen.ReplicaSets {
		if metav1.IsControlledBy(pod, set) {
			return true
		}
	}
	return false
}

// updatePod patches a pod that was read in this very pass. One that is gone needs nothing any more.
func (r *RolloutReconciler) updatePod(ctx context.Context, c change.UpdatePod) error {
	if err := r.client.Patch(ctx, c.To.DeepCopy(), guarded(c.From)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("patch pod %s: %w", c.From.Name, err)
	}
	return nil
}

func (r *RolloutReconciler) evict(ctx context.Context, pod *corev1.Pod) error {
	eviction := &policyv1.Eviction{DeleteOptions: &metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &pod.UID, ResourceVersion: &pod.ResourceVersion},
	}}
	err := r.client.SubResource("eviction").Create(ctx, pod.DeepCopy(), eviction)
	if apierrors.IsTooManyRequests(err) {
		r.log.InfoContext(ctx, "a PodDisruptionBudget forbids the eviction for now", "pod", client.ObjectKeyFromObject(pod).String())
		return nil
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("evict pod %s: %w", pod.Name, err)
	}
	return nil
}
