package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/sluice-delivery/sluice/playground/serve"
)

// Requests to a pod cost processor time, which kubectl top shows and an autoscaler acts on: two pods are added, and no more than it may have.
func autoscalerFollowsTheLoad(t *testing.T, p *playground, namespace string) {
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{serve.CostAnnotation: "100ms"}},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "web", Image: serve.Image + ":v1",
					Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}},
				}}},
			},
		},
	}
	if _, err := p.client.AppsV1().Deployments(namespace).Create(t.Context(), deployment, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	half := int32(50)
	autoscaler := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			MaxReplicas:    3,
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
				Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &half},
			}}},
		},
	}
	if _, err := p.client.AutoscalingV2().HorizontalPodAutoscalers(namespace).Create(t.Context(), autoscaler, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var pod corev1.Pod
	eventually(t, func(ctx context.Context) (err error) {
		pod, err = onlyRunningPod(ctx, p.client, namespace)
		return err
	})
	address, err := serve.Loopback(pod.Status.PodIP)
	if err != nil {
		t.Fatal(err)
	}
	go load(t.Context(), "http://"+net.JoinHostPort(address.String(), "8080"))
	eventually(t, func(ctx context.Context) error {
		deployment, err := p.client.AppsV1().Deployments(namespace).Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		return want("available replicas", int(deployment.Status.AvailableReplicas), 3)
	})
	if top := mustRun(t, "kubectl", "--kubeconfig", p.kubeconfig, "-n", namespace, "top", "pods"); !strings.Contains(top, pod.Name) {
		t.Errorf("kubectl top pods: %s", top)
	}
	if top := mustRun(t, "kubectl", "--kubeconfig", p.kubeconfig, "top", "nodes"); !strings.Contains(top, pod.Spec.NodeName) {
		t.Errorf("kubectl top nodes: %s", top)
	}
}

func onlyRunningPod(ctx context.Context, client kubernetes.Interface, namespace string) (corev1.Pod, error) {
	pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return corev1.Pod{}, err
	}
	if len(pods.Items) != 1 || pods.Items[0].Status.Phase != corev1.PodRunning {
		return corev1.Pod{}, fmt.Errorf("%d pods, or one that does not run", len(pods.Items))
	}
	return pods.Items[0], nil
}

// load sends twenty requests per second until ctx ends.
func load(ctx context.Context, url string) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return
		}
		if response, err := http.DefaultClient.Do(request); err == nil { // what is not answered costs nothing
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
	}
}
