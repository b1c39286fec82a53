package controller_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/traffic/gatewayapi"
)

// TestRoutesByTheirLabels: a route gets the weights of an update when it is labelled, and is sent to the stable Service when the label goes. Routes
// of other namespaces are never found, whatever their labels are.
func TestRoutesByTheirLabels(t *testing.T) {
	t.Parallel()
	ns, other := playtest.New(t), playtest.New(t)
	manifest := routed(2, `{gatewayAPI: {httpRouteSelector: {matchLabels: {team: shop}}}}`, `[{setWeight: 50}, {pause: {}}]`, "abortScaleDownDelaySeconds: 1")
	createServices(t, ns, "web-canary", "web-stable")
	labelled := func(name string) *unstructured.Unstructured {
		route := sim.HTTPRoute(name, "web-stable")
		route.SetLabels(map[string]string{"team": "shop"})
		return route
	}
	createObject(t, other, labelled("first"))
	ns.StartController("--gateway-status-timeout=0")
	ns.CreateRollout(manifest)
	ns.WaitForRollout("web", "to ask for a route", func(ro *v1alpha1.Rollout) bool {
		return playtest.Degraded(ro) && ro.Status.Canary.Weights == nil
	})
	createObject(t, ns, labelled("first"))
	createObject(t, ns, sim.HTTPRoute("second", "web-stable"))
	ns.WaitForRollout("web", "to be Healthy", settledOn("1", 2))
	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to pause", both(playtest.Paused, weightIs(50)))
	waitForShare(ns, "first", 50)

	relabel(t, ns, "second", `{"metadata":{"labels":{"team":"shop"}}}`)
	waitForShare(ns, "second", 50)
	relabel(t, ns, "first", `{"metadata":{"labels":{"team":"another"}}}`)
	waitForShare(ns, "first", 0)
	ns.WaitForRoute(gatewayapi.GVK("HTTPRoute"), "first", "to have nothing of the Rollout's", func(o *unstructured.Unstructured) bool {
		return len(o.GetAnnotations()) == 0
	})
	waitForShare(ns, "second", 50)
	route := &unstructured.Unstructured{}
	route.SetGroupVersionKind(gatewayapi.GVK("HTTPRoute"))
	if err := other.Client.Get(t.Context(), types.NamespacedName{Namespace: other.Name, Name: "first"}, route); err != nil {
		t.Fatal(err)
	}
	if len(route.GetAnnotations()) > 0 || route.GetGeneration() > 1 {
		t.Errorf("a route of another namespace was written: %v", route.Object)
	}
}

func relabel(t *testing.T, ns *playtest.Namespace, name, patch string) {
	t.Helper()
	route := &unstructured.Unstructured{}
	route.SetGroupVersionKind(gatewayapi.GVK("HTTPRoute"))
	route.SetNamespace(ns.Name)
	route.SetName(name)
	if err := ns.Client.Patch(t.Context(), route, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// waitForShare waits until a route sends a share of its requests to the canary, in percent.
func waitForShare(ns *playtest.Namespace, name string, percent int64) {
	ns.WaitForRoute(gatewayapi.GVK("HTTPRoute"), name, "to split", func(o *unstructured.Unstructured) bool {
		rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules")
		refs, _, _ := unstructured.NestedSlice(rules[0].(map[string]any), "backendRefs")
		canary, total := int64(0), int64(0)
		for _, entry := range refs {
			ref := entry.(map[string]any)
			weight, _ := ref["weight"].(int64)
			if total += weight; ref["name"] == "web-canary" {
				canary += weight
			}
		}
		return total > 0 && canary*100 == percent*total
	})
}
