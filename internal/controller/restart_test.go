package controller_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	policyclient "k8s.io/client-go/kubernetes/typed/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

func TestC29RestartKeepsTheMinimumAndKillsDoNotMatter(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	ns.StartController()
	ns.CreateRollout(canary(4, `{maxSurge: 1, maxUnavailable: 1}`))
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	before := podsOf(ns)

	history := ns.Record()
	restart(ns)
	history.KillWhileMoving(rand.New(rand.NewPCG(29, 29)), 3, 5)
	ns.WaitForRollout("web", "to have restarted", restarted)
	for _, p := range history.Stop() {
		if p.Available() < 4-1 || p.Desired() != 4 {
			t.Errorf("at resourceVersion %s: %s; want 3 or more of 4 available, and no more asked for", p.ResourceVersion, p)
		}
	}
	wantNone(t, ns, before)
}

func TestC29OnePodRestartsWithoutDowntime(t *testing.T) {
	t.Parallel()
	for name, strategy := range map[string]string{
		"canary":    canary(1, `{}`),
		"bluegreen": blueGreen(1, `{activeService: active}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := playtest.New(t)
			ns.StartController()
			if name == "bluegreen" {
				createServices(t, ns, "active")
			}
			ns.CreateRollout(strategy)
			ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
			before := podsOf(ns)

			history := ns.Record()
			restart(ns)
			ns.WaitForRollout("web", "to have restarted", restarted)
			for _, p := range history.Stop() {
				if p.Available() < 1 || p.Desired() > 2 {
					t.Errorf("at resourceVersion %s: %s; want one available, and no more than two", p.ResourceVersion, p)
				}
			}
			wantNone(t, ns, before)
			if sets := ns.ReplicaSets(); len(sets) != 1 || *sets[0].Spec.Replicas != 1 {
				t.Errorf("left over: %d ReplicaSets, the first with %d pods", len(sets), *sets[0].Spec.Replicas)
			}
		})
	}
}

func TestC29RestartHonoursAPodDisruptionBudget(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	ns.StartController()
	budgets := protect(t, ns, 3, "app", "web")
	ns.CreateRollout(canary(3, `{maxSurge: 1, maxUnavailable: 1}`))
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	before := podsOf(ns)

	history := ns.Record()
	restart(ns)
	waiting := ns.WaitForRollout("web", "to say that it restarts", func(ro *v1alpha1.Rollout) bool {
		return ro.Status.Phase == v1alpha1.RolloutPhaseProgressing
	})
	if want := "rollout is restarting"; waiting.Status.Message != want {
		t.Errorf("message %q, want %q", waiting.Status.Message, want)
	}
	for history.WaitForEvents(1) { // until nothing happens any more
		continue
	}
	for _, p := range history.Stop() {
		if p.Available() < 3 {
			t.Errorf("at resourceVersion %s a pod was taken that the budget protects: %s", p.ResourceVersion, p)
		}
	}
	// Nobody tells the controller of it: it asks again by itself.
	if _, err := budgets.Patch(ns.Context(), "web", types.MergePatchType, []byte(`{"spec":{"minAvailable":2}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	ns.WaitForRollout("web", "to have restarted", restarted)
	wantNone(t, ns, before)
}

// TestC29RestartOfARoutedCanary in the middle of an update, under a PodDisruptionBudget that protects all but one of the stable version's
// pods: traffic stays where it is, and each version keeps what carries it.
func TestC29RestartOfARoutedCanary(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	manifest := routed(4, routers["GatewayAPI"], halfTheWeight, "maxUnavailable: 1, scaleDownDelaySeconds: 1")
	createRoute(t, ns, manifest)
	ns.StartController()
	ns.CreateRollout(manifest)
	first := ns.WaitForRollout("web", "to be Healthy", settledOn("1", 4)).Status.StableRS
	protect(t, ns, 3, v1alpha1.PodTemplateHashLabel, first)
	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to pause", both(playtest.AtStep(1), weightIs(50), pods(6)))
	before := podsOf(ns)

	history := ns.Record()
	restart(ns)
	ns.WaitForRollout("web", "to have restarted", func(ro *v1alpha1.Rollout) bool {
		return playtest.AtStep(1)(ro) && ro.Spec.RestartAt != nil && ro.Spec.RestartAt.Equal(ro.Status.RestartedAt)
	})
	for _, p := range history.Stop() {
		if n := p.Sets[first].Status.AvailableReplicas; n < 3 {
			t.Errorf("%d pods of the stable version were available, and the budget says 3, at %s", n, p)
		}
		if p.Available() < 6-1 || p.Routes["HTTPRoute web"]["web-canary"] != 50 {
			t.Errorf("more than one pod was missing, or traffic moved, at %s", p)
		}
	}
	wantNone(t, ns, before)
}

// protect creates a PodDisruptionBudget, named web, for the pods with a label.
func protect(t *testing.T, ns *playtest.Namespace, least int32, label, value string) policyclient.PodDisruptionBudgetInterface {
	t.Helper()
	budgets := kubernetes.NewForConfigOrDie(ns.Config).PolicyV1().PodDisruptionBudgets(ns.Name)
	minimum := intstr.FromInt32(least)
	_, err := budgets.Create(ns.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &minimum, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{label: value}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return budgets
}

// restart asks for a restart of all pods there are, which takes an instant after their creation, in whole seconds.
func restart(ns *playtest.Namespace) {
	ns.Patch("web", `{"spec":{"restartAt":"`+time.Now().Add(time.Second).UTC().Format(time.RFC3339)+`"}}`)
}

// restarted reports whether nothing is left to restart, and all pods are there again.
func restarted(ro *v1alpha1.Rollout) bool {
	return playtest.Healthy(ro) && ro.Spec.RestartAt != nil && ro.Spec.RestartAt.Equal(ro.Status.RestartedAt) &&
		ro.Status.Replicas == *ro.Spec.Replicas
}

func podsOf(ns *playtest.Namespace) map[types.UID]string {
	var pods corev1.PodList
	names := map[types.UID]string{}
	if err := ns.Client.List(ns.Context(), &pods, client.InNamespace(ns.Name)); err != nil {
		names[""] = err.Error()
	}
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp == nil {
			names[pod.UID] = pod.Name
		}
	}
	return names
}

// wantNone reports pods that are still there.
func wantNone(t *testing.T, ns *playtest.Namespace, of map[types.UID]string) {
	t.Helper()
	var left []string
	for uid := range podsOf(ns) {
		if name, ok := of[uid]; ok {
			left = append(left, name)
		}
	}
	if len(of) == 0 || len(left) > 0 {
		t.Errorf("of %d pods these were not restarted: %s", len(of), strings.Join(left, ", "))
	}
}
