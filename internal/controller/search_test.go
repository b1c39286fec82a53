package controller_test

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/spec"
	routersof "github.com/sluice-delivery/sluice/internal/traffic/routers"
)

// TestRoutersChangedWhileNobodyLooks: the controller dies in the middle of an update, and its Rollout's router is changed. The next controller
// finds no Rollout that names the old router, and still cleans up what is left there.
func TestRoutersChangedWhileNobodyLooks(t *testing.T) {
	const nginx, gateway = `{nginx: {stableIngress: web}}`, `{gatewayAPI: {httpRoute: web}}`
	for name, c := range map[string]struct{ from, to string }{
		"nginx to Gateway API": {nginx, `{"nginx":null,"gatewayAPI":{"httpRoute":"web"}}`},
		"Gateway API to nginx": {gateway, `{"gatewayAPI":null,"nginx":{"stableIngress":"web"}}`},
		"nginx to none":        {nginx, `null`},
		"a kind that only Rollouts name to none": {
			`{custom: [{apiVersion: projectcontour.io/v1, kind: HTTPProxy, name: web, weights: [{destinations: "spec.routes[*].services", service: entry.name}], fields: [{path: spec.hash, value: canary.hash}]}]}`,
			`null`,
		},
		"Gateway API to none": {gateway, `null`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := playtest.New(t)
			createServices(t, ns, "web-canary", "web-stable")
			createObject(t, ns, sim.HTTPRoute("web", "web-stable"))
			createObject(t, ns, sim.Ingress("web", "web-stable"))
			createObject(t, ns, sim.HTTPProxy("web", "web-stable", "web-canary"))
			ns.StartController()
			ns.CreateRollout(routed(2, c.from, `[{setWeight: 50}, {pause: {}}]`, ""))
			ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
			ns.SetImage("web", "nginx:2")
			ns.WaitForRollout("web", "to have half of the traffic on the canary", weightIs(50))
			if len(leftInRoutes(t, ns)) == 0 {
				t.Fatal("no object of a router has anything of the Rollout in it: the test shows nothing")
			}

			ns.StopController(syscall.SIGKILL)
			ns.Patch("web", fmt.Sprintf(`{"spec":{"strategy":{"canary":{"trafficRouting":%s}}}}`, c.to))
			ns.StartController()
			ns.PatchStatus("web", `{"status":{"promoteFull":true}}`)
			ns.WaitForRollout("web", "to be Healthy on the second version", func(ro *v1alpha1.Rollout) bool {
				return playtest.Healthy(ro) && ro.Annotations[v1alpha1.RevisionAnnotation] == "2"
			})
			old := "HTTP"
			if c.from == nginx {
				old = "Ingress"
			}
			ns.WaitUntil("nothing is left in the old route", func() error {
				for _, left := range leftInRoutes(t, ns) {
					if strings.HasPrefix(left, old) {
						return fmt.Errorf("something is left in %s", left)
					}
				}
				return nil
			})
		})
	}
}

// leftInRoutes are the objects of routers that have something of a Rollout in them.
func leftInRoutes(t *testing.T, ns *playtest.Namespace) (left []string) {
	t.Helper()
	for _, gvk := range append(routersof.Kinds(), sim.HTTPProxies) {
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := ns.Client.List(t.Context(), &list, client.InNamespace(ns.Name)); err != nil {
			if meta.IsNoMatchError(err) {
				continue // the playground has not the kinds of all routers
			}
			t.Fatal(err)
		}
		for i := range list.Items {
			if len(routersof.Owners(&list.Items[i], spec.Policy{})) > 0 {
				left = append(left, gvk.Kind+" "+list.Items[i].GetName())
			}
		}
	}
	return left
}

// TestOneKindMayBeForbidden: a controller without the rights for a router serves the Rollouts that have nothing to do with it, and is ready.
func TestOneKindMayBeForbidden(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	account := rbacv1.Subject{Kind: "ServiceAccount", Namespace: ns.Name, Name: "bare"}
	createObject(t, ns, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account.Name}})
	createObject(t, ns, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account.Name}, Subjects: []rbacv1.Subject{account},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "argo-rollouts"}, // and none of the features
	})
	createServices(t, ns, "web-canary", "web-stable")
	createObject(t, ns, sim.Ingress("web", "web-stable"))
	port := ns.FreePort()
	ns.StartController("--kubeconfig", ns.KubeconfigOf(account.Name), "--healthz-port", fmt.Sprint(port))
	ns.CreateRollout(routed(1, routers["Nginx"], `[{setWeight: 50}]`, ""))
	ns.WaitForRollout("web", "to say which right is missing, and how to grant it", func(ro *v1alpha1.Rollout) bool {
		return ro.Status.Phase == v1alpha1.RolloutPhaseDegraded && strings.HasPrefix(ro.Status.Message, "TrafficRoutingError: cannot read objects of the kind Ingress: ") &&
			strings.Contains(ro.Status.Message, `cannot list resource "ingresses"`) && strings.Contains(ro.Status.Message, "config/routers/alb")
	})
	ns.WaitForEvents("web", "TrafficRoutingError cannot read objects of the kind Ingress")
	ns.CreateRollout(strings.ReplaceAll(canary(1, `{}`), "web", "plain"))
	ns.WaitForRollout("plain", "to be Healthy", playtest.Healthy)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/readyz", port), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it is not read
	if response.StatusCode != http.StatusOK {
		t.Errorf("/readyz answers %s while a Rollout names a kind that the controller may not list", response.Status)
	}
	rights := []rbacv1.PolicyRule{{APIGroups: []string{"networking.k8s.io"}, Resources: []string{"ingresses"}, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"}}}
	createObject(t, ns, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "nginx"}, Rules: rights})
	createObject(t, ns, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "nginx"}, Subjects: []rbacv1.Subject{account}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "nginx"},
	})
	ns.WaitForRollout("web", "to be Healthy once the right is granted", playtest.Healthy)
}
