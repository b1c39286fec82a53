package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/utils/ptr"
)

// What rollouts need of a cluster, each in a namespace of its own.
func TestCluster(t *testing.T) {
	audit := filepath.Join(t.TempDir(), "audit.log")
	p := up(t, "--audit-log", audit, "--pod-ready-after", "100ms")
	for name, test := range map[string]func(*testing.T, *playground, string){
		"its version can be parsed":                  versionIsParseable,
		"deployments become available":               deploymentBecomesAvailable,
		"services list the ready pods":               servicesListReadyPods,
		"what is owned goes with its owner":          ownedGoesWithItsOwner,
		"owned custom resources too":                 ownedCustomResourcesToo,
		"jobs complete and are cleaned up":           jobsCompleteAndAreCleanedUp,
		"evictions respect disruption budgets":       evictionsRespectBudgets,
		"an autoscaler keeps its minimum":            autoscalerKeepsItsMinimum,
		"an autoscaler follows the load":             autoscalerFollowsTheLoad,
		"service accounts have just their rights":    serviceAccountsHaveJustTheirRights,
		"a quota stops pods and follows them":        quotaStopsPods,
		"a limit range fills in and refuses":         limitRangeLimits,
		"pod security refuses":                       podSecurityRefuses,
		"a deleted namespace is emptied":             deletedNamespaceIsEmptied,
		"kubectl applies and explains and waits":     kubectlWorks,
		"roles are aggregated":                       rolesAreAggregated,
		"schemas with CEL refuse with their message": schemasRefuse,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace, err := p.client.CoreV1().Namespaces().Create(t.Context(),
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			eventually(t, func(ctx context.Context) error {
				_, err := p.client.CoreV1().ServiceAccounts(namespace.Name).Get(ctx, "default", metav1.GetOptions{})
				return err
			})
			test(t, p, namespace.Name)
		})
	}
	t.Cleanup(func() {
		p.stop(t, 15)
		auditTellsWhoDidWhat(t, audit)
	})
}

func versionIsParseable(t *testing.T, p *playground, _ string) {
	info, err := p.client.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	version, err := utilversion.ParseSemantic(info.GitVersion)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("v%s.%s.%d", info.Major, info.Minor, version.Patch()); info.GitVersion != want || version.Minor() < 36 {
		t.Errorf("version %s, major %s, minor %s", info.GitVersion, info.Major, info.Minor)
	}
}

func deploymentBecomesAvailable(t *testing.T, p *playground, namespace string) {
	deploy(t, p, namespace, 3)
}

func servicesListReadyPods(t *testing.T, p *playground, namespace string) {
	deploy(t, p, namespace, 2)
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}}},
	}
	if _, err := p.client.CoreV1().Services(namespace).Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		slices, err := p.client.DiscoveryV1().EndpointSlices(namespace).List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=web"})
		if err != nil {
			return err
		}
		ready := 0
		for _, slice := range slices.Items {
			for _, endpoint := range slice.Endpoints {
				if ptr.Deref(endpoint.Conditions.Ready, false) {
					ready++
				}
			}
		}
		return want("ready endpoints", ready, 2)
	})
	eventually(t, func(ctx context.Context) error {
		endpoints, err := p.client.CoreV1().Endpoints(namespace).Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(endpoints.Subsets) != 1 {
			return want("subsets", len(endpoints.Subsets), 1)
		}
		return want("addresses", len(endpoints.Subsets[0].Addresses), 2)
	})
}

func ownedGoesWithItsOwner(t *testing.T, p *playground, namespace string) {
	deploy(t, p, namespace, 2)
	if err := p.client.AppsV1().Deployments(namespace).Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		sets, err := p.client.AppsV1().ReplicaSets(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		pods, err := p.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		return want("replica sets and pods", len(sets.Items)+len(pods.Items), 0)
	})
}

func jobsCompleteAndAreCleanedUp(t *testing.T, p *playground, namespace string) {
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "check"},
		Spec: batchv1.JobSpec{
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				Containers:    []corev1.Container{{Name: "c", Image: "busybox:1", Command: []string{"sh", "-c", "exit 0"}}},
			}},
		},
	}
	if _, err := p.client.BatchV1().Jobs(namespace).Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		job, err := p.client.BatchV1().Jobs(namespace).Get(ctx, "check", metav1.GetOptions{})
		if err != nil {
			return err
		}
		return want("succeeded pods", int(job.Status.Succeeded), 1)
	})
	patch := []byte(`{"spec":{"ttlSecondsAfterFinished":0}}`)
	if _, err := p.client.BatchV1().Jobs(namespace).Patch(t.Context(), "check", mergePatch, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		_, err := p.client.BatchV1().Jobs(namespace).Get(ctx, "check", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, errors.New("the job is still there"))
	})
}

func evictionsRespectBudgets(t *testing.T, p *playground, namespace string) {
	deploy(t, p, namespace, 2)
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: new(intstr.FromInt32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels}},
	}
	if _, err := p.client.PolicyV1().PodDisruptionBudgets(namespace).Create(t.Context(), budget, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		budget, err := p.client.PolicyV1().PodDisruptionBudgets(namespace).Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		return want("healthy pods", int(budget.Status.CurrentHealthy), 2)
	})
	pods, err := p.client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pods.Items[0].Name, Namespace: namespace}}
	if err := p.client.PolicyV1().Evictions(namespace).Evict(t.Context(), eviction); !apierrors.IsTooManyRequests(err) {
		t.Errorf("eviction: %v, want that it is refused", err)
	}
}

func autoscalerKeepsItsMinimum(t *testing.T, p *playground, namespace string) {
	deploy(t, p, namespace, 1)
	autoscaler := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			MinReplicas:    new(int32(3)),
			MaxReplicas:    5,
		},
	}
	if _, err := p.client.AutoscalingV2().HorizontalPodAutoscalers(namespace).Create(t.Context(), autoscaler, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		deployment, err := p.client.AppsV1().Deployments(namespace).Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		return want("available replicas", int(deployment.Status.AvailableReplicas), 3)
	})
}

func deletedNamespaceIsEmptied(t *testing.T, p *playground, namespace string) {
	deploy(t, p, namespace, 1)
	if err := p.client.CoreV1().Namespaces().Delete(t.Context(), namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		_, err := p.client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, errors.New("the namespace is still there"))
	})
}

// auditTellsWhoDidWhat counts on what the audit log is for: telling users apart.
func auditTellsWhoDidWhat(t *testing.T, path string) {
	t.Helper()
	users := map[string]int{}
	for line := range strings.Lines(read(t, path)) {
		var event struct {
			Stage string
			User  struct{ Username string }
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatalf("%v in: %s", err, line)
		}
		if event.Stage == "RequestReceived" {
			t.Fatalf("stage RequestReceived is logged: %s", line)
		}
		users[event.User.Username]++
	}
	for _, user := range []string{"kubernetes-admin", "system:kube-controller-manager", "system:playground-kubelets"} {
		if users[user] == 0 {
			t.Errorf("no request of %s; there are those of %v", user, slices.Sorted(maps.Keys(users)))
		}
	}
}

var labels = map[string]string{"app": "web"}

// deploy makes a deployment called web and waits until it is available.
func deploy(t *testing.T, p *playground, namespace string, replicas int32) {
	t.Helper()
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
			},
		},
	}
	if _, err := p.client.AppsV1().Deployments(namespace).Create(t.Context(), deployment, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		deployment, err := p.client.AppsV1().Deployments(namespace).Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		return want("available replicas", int(deployment.Status.AvailableReplicas), int(replicas))
	})
}

func want(what string, got, want int) error {
	if got != want {
		return fmt.Errorf("%d %s, want %d", got, what, want)
	}
	return nil
}
