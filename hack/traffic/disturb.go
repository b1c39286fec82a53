//go:build linux

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// most is how many pods the autoscaler may ask for.
const most = pods + 3

// autoscaled has a HorizontalPodAutoscaler add pods in the middle of an update.
func autoscaled(ctx context.Context, a *arena) error {
	if err := a.underway(ctx); err != nil {
		return err
	}
	if err := a.autoscale(ctx); err != nil {
		return err
	}
	return a.healthy(ctx, "v2")
}

// autoscale creates a HorizontalPodAutoscaler and waits until it has set the Rollout's replicas. The load is twice what the pods ask for, so it adds some.
func (a *arena) autoscale(ctx context.Context) error {
	least, all := int32(pods), int32(100)
	autoscaler := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "web"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Rollout", Name: "web"},
			MinReplicas:    &least, MaxReplicas: most,
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
				Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &all},
			}}},
		},
	}
	if err := a.client.Create(ctx, autoscaler); err != nil {
		return err
	}
	return a.until(ctx, "scaled by the autoscaler", func(ro *v1alpha1.Rollout) bool { return *ro.Spec.Replicas > pods })
}

// drained empties the node that has most of the pods, as kubectl drain does: no new pods are placed there, and those that are there are evicted, as
// far as a PodDisruptionBudget allows.
func drained(ctx context.Context, a *arena) (err error) {
	budget := intstr.FromInt32(pods - 1)
	if err := a.client.Create(ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "web"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &budget, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
	}); err != nil {
		return err
	}
	if err := a.underway(ctx); err != nil {
		return err
	}
	var list corev1.PodList
	if err := a.client.List(ctx, &list, client.InNamespace(a.namespace)); err != nil {
		return err
	}
	nodes := map[string][]corev1.Pod{}
	for _, pod := range list.Items {
		if pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil {
			nodes[pod.Spec.NodeName] = append(nodes[pod.Spec.NodeName], pod)
		}
	}
	node := slices.MaxFunc(slices.Sorted(maps.Keys(nodes)), func(x, y string) int { return cmp.Compare(len(nodes[x]), len(nodes[y])) })
	if err := a.cordon(ctx, node, true); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.cordon(context.WithoutCancel(ctx), node, false)) }()
	for _, pod := range nodes[node] {
		if err := a.evict(ctx, &pod); err != nil {
			return err
		}
	}
	return a.healthy(ctx, "v2")
}

// cordon keeps new pods from a node, or lets them in again. Other cells may use the node, too.
func (a *arena) cordon(ctx context.Context, node string, closed bool) error {
	patch := fmt.Sprintf(`{"spec": {"unschedulable": %t}}`, closed)
	return a.client.Patch(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, client.RawPatch(types.MergePatchType, []byte(patch)))
}

// evict asks for the end of a pod until the budget allows it.
func (a *arena) evict(ctx context.Context, pod *corev1.Pod) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := a.client.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{})
		if err == nil || apierrors.IsNotFound(err) {
			return nil
		}
		if !apierrors.IsTooManyRequests(err) {
			return fmt.Errorf("evict %s: %w", pod.Name, err)
		}
		if sleep(ctx, 10*interval) != nil {
			return fmt.Errorf("%s was not evicted within %s: %w", pod.Name, patience, err)
		}
	}
}
