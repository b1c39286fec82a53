package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// quotaStopsPods has a ReplicaSet's third pod refused, which its status says; the quota's own counts go up and down with the pods.
func quotaStopsPods(t *testing.T, p *playground, namespace string) {
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "pods"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("2")}},
	}
	if _, err := p.client.CoreV1().ResourceQuotas(namespace).Create(t.Context(), quota, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	used := func(pods string) {
		t.Helper()
		eventually(t, func(ctx context.Context) error {
			got, err := p.client.CoreV1().ResourceQuotas(namespace).Get(ctx, "pods", metav1.GetOptions{})
			if err != nil {
				return err
			}
			if count, there := got.Status.Used[corev1.ResourcePods]; !there || count.Cmp(resource.MustParse(pods)) != 0 {
				return fmt.Errorf("the quota counts %v, not %s pods", got.Status.Used, pods)
			}
			return nil
		})
	}
	used("0")
	makeSet(t, p, namespace, 3)
	refused(t, p, namespace, "exceeded quota: pods")
	used("2")
	scale := []byte(`{"spec":{"replicas":1}}`)
	if _, err := p.client.AppsV1().ReplicaSets(namespace).Patch(t.Context(), "web", types.MergePatchType, scale, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	used("1")
}

// limitRangeLimits has a container get the default that it does not ask for, and another be refused that asks for too much.
func limitRangeLimits(t *testing.T, p *playground, namespace string) {
	limit := func(memory string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)}
	}
	limits := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "memory"}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
		Type: corev1.LimitTypeContainer, Max: limit("1Gi"), Default: limit("256Mi"), DefaultRequest: limit("128Mi"),
	}}}}
	if _, err := p.client.CoreV1().LimitRanges(namespace).Create(t.Context(), limits, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pods := p.client.CoreV1().Pods(namespace)
	eventually(t, func(ctx context.Context) error { // admission learns of the LimitRange from a watch
		pod, err := pods.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "modest-"}, Spec: oneContainer()}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		if got := pod.Spec.Containers[0].Resources.Limits.Memory().String(); got != "256Mi" {
			return fmt.Errorf("the container got the limit %s", got)
		}
		return nil
	})
	greedy := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "greedy"}, Spec: oneContainer()}
	greedy.Spec.Containers[0].Resources.Limits = limit("2Gi")
	_, err := pods.Create(t.Context(), greedy, metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "maximum memory usage per Container is 1Gi") {
		t.Errorf("a container of 2Gi: %v", err)
	}
}

// podSecurityRefuses has a namespace that is restricted refuse a pod that says nothing of how it runs.
func podSecurityRefuses(t *testing.T, p *playground, namespace string) {
	label := []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`)
	if _, err := p.client.CoreV1().Namespaces().Patch(t.Context(), namespace, types.MergePatchType, label, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error { // admission learns of the label from a watch
		_, err := p.client.CoreV1().Pods(namespace).Create(ctx,
			&corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "loose-"}, Spec: oneContainer()}, metav1.CreateOptions{})
		if !apierrors.IsForbidden(err) {
			return fmt.Errorf("a pod that says nothing of how it runs: %w", err)
		}
		return nil
	})
	makeSet(t, p, namespace, 1)
	refused(t, p, namespace, `violates PodSecurity "restricted:latest"`)
}

func oneContainer() corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}}
}

// makeSet creates a ReplicaSet named web.
func makeSet(t *testing.T, p *playground, namespace string, replicas int32) {
	t.Helper()
	app := map[string]string{"app": "web"}
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appsv1.ReplicaSetSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: app},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: app}, Spec: oneContainer()},
	}}
	if _, err := p.client.AppsV1().ReplicaSets(namespace).Create(t.Context(), set, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// refused waits until the ReplicaSet web says that its pods are refused, and why.
func refused(t *testing.T, p *playground, namespace, why string) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		set, err := p.client.AppsV1().ReplicaSets(namespace).Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(set.Status.Conditions, func(c appsv1.ReplicaSetCondition) bool {
			return c.Type == appsv1.ReplicaSetReplicaFailure && c.Status == corev1.ConditionTrue && strings.Contains(c.Message, why)
		}) {
			return fmt.Errorf("the ReplicaSet does not say %q: %v", why, set.Status.Conditions)
		}
		return nil
	})
}
