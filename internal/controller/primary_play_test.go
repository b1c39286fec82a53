package controller_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/traffic/istio"
)

// TestIstioInAnotherCluster: with a labeled Secret in the controller's namespace, objects of Istio are watched and written in the cluster that its
// kubeconfig names, also after kill -9. While that cluster cannot be reached, or nobody knows which one is meant, the Rollouts that need it say so, and
// others go on.
func TestIstioInAnotherCluster(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	second, there := secondCluster(t, ns)
	createServices(t, ns, "web-canary", "web-stable")
	mayListSecrets(t, ns)
	kubeconfig, err := os.ReadFile(second.ControllerKubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	createObject(t, ns, primarySecret("istio", kubeconfig))
	createObject(t, there, sim.VirtualService("web", "web-stable", "web-canary"))

	ns.Env = []string{"POD_NAMESPACE=" + ns.Name}
	ns.StartController()
	ns.CreateRollout(routed(2, byHost, twoWeights, "scaleDownDelaySeconds: 1, maxUnavailable: 1"))
	ns.WaitForRollout("web", "to be Healthy", settledOn("1", 2))
	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to pause at 25 %", both(playtest.AtStep(1), playtest.Paused, weightIs(25)))
	there.WaitForRoute(istio.VirtualService, "web", "to send 25 % to the canary", sends(75, 25))

	ns.StopController(syscall.SIGKILL)
	ns.StartController()
	setWeights(t, there, 100, 0)
	there.WaitForRoute(istio.VirtualService, "web", "to send 25 % to the canary again", sends(75, 25))
	ns.PatchStatus("web", resume)
	ns.WaitForRollout("web", "to pause at 75 %", both(playtest.AtStep(3), playtest.Paused, weightIs(75)))
	there.WaitForRoute(istio.VirtualService, "web", "to send 75 % to the canary", sends(25, 75))
	ns.PatchStatus("web", resume)
	ns.WaitForRollout("web", "to be Healthy on the second version", settledOn("2", 2))
	there.WaitForRoute(istio.VirtualService, "web", "to send everything to the stable version", sends(100, 0))

	ns.StopController(syscall.SIGTERM)
	second.Stop()
	ns.StartController()
	ns.SetImage("web", "nginx:3")
	ns.WaitForRollout("web", "to say that the other cluster cannot be asked", says("the cluster of Secret "+ns.Name+"/istio"))
	other := strings.Replace(canary(1, "{}"), "name: web}", "name: other}", 1)
	ns.CreateRollout(other)
	ns.WaitForRollout("other", "to be Healthy all the same", playtest.Healthy)

	createObject(t, ns, primarySecret("more", kubeconfig))
	ns.StopController(syscall.SIGTERM)
	ns.StartController()
	ns.WaitForRollout("web", "to say that there are two Secrets", says("the Secrets istio and more"))
}

// secondCluster starts a cluster that has Istio's kinds and this namespace, and returns the namespace there.
func secondCluster(t *testing.T, ns *playtest.Namespace) (*playtest.Cluster, *playtest.Namespace) {
	t.Helper()
	second, err := playtest.Start()
	if second != nil {
		t.Cleanup(second.Stop)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := playtest.WithIstio(second); err != nil {
		t.Fatal(err)
	}
	there := *ns
	there.Client = second.Client()
	if err := there.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns.Name}}); err != nil {
		t.Fatal(err)
	}
	return second, &there
}

func primarySecret(name string, kubeconfig []byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1alpha1.PrimaryClusterLabel: "true"}}, Data: map[string][]byte{"primary": kubeconfig},
	}
}

// mayListSecrets grants the controller in its own namespace what config/routers/istio-primary does.
func mayListSecrets(t *testing.T, ns *playtest.Namespace) {
	t.Helper()
	createObject(t, ns, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "primary"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"list"}}}})
	createObject(t, ns, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "primary"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "primary"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "argo-rollouts", Namespace: "argo-rollouts"}},
	})
}

func says(text string) func(*v1alpha1.Rollout) bool {
	return func(ro *v1alpha1.Rollout) bool {
		return playtest.Degraded(ro) && strings.Contains(ro.Status.Message, text)
	}
}

// sends reports whether the destinations have these weights.
func sends(weights ...int64) func(*unstructured.Unstructured) bool {
	return func(o *unstructured.Unstructured) bool {
		for i, d := range destinationsOf(o) {
			if weight, _ := d.(map[string]any)["weight"].(int64); weight != weights[i] {
				return false
			}
		}
		return true
	}
}

func destinationsOf(o *unstructured.Unstructured) []any {
	routes, _, _ := unstructured.NestedSlice(o.Object, "spec", "http")
	list, _ := routes[len(routes)-1].(map[string]any)["route"].([]any)
	return list
}

// setWeights edits the weights of a VirtualService, as people do.
func setWeights(t *testing.T, ns *playtest.Namespace, weights ...int64) {
	t.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(istio.VirtualService)
	if err := ns.Client.Get(t.Context(), client.ObjectKey{Namespace: ns.Name, Name: "web"}, o); err != nil {
		t.Fatal(err)
	}
	was := o.DeepCopy()
	routes, _, _ := unstructured.NestedSlice(o.Object, "spec", "http")
	for i, d := range routes[len(routes)-1].(map[string]any)["route"].([]any) {
		d.(map[string]any)["weight"] = weights[i]
	}
	if err := unstructured.SetNestedSlice(o.Object, routes, "spec", "http"); err != nil {
		t.Fatal(err)
	}
	if err := ns.Client.Patch(t.Context(), o, client.MergeFrom(was)); err != nil {
		t.Fatal(err)
	}
}
