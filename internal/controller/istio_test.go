package controller_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/traffic/istio"
)

const (
	byHost   = `{istio: {virtualService: {name: web}}, managedRoutes: [{name: copy}, {name: beta}]}`
	bySubset = `{istio: {virtualService: {name: web, routes: [primary]}, destinationRule: {name: web, canarySubsetName: canary, stableSubsetName: stable}}, managedRoutes: [{name: beta}]}`
)

// TestC37IstioKilledAtAnyMoment: a controller that dies at any moment leaves no weight where there are no pods.
func TestC37IstioKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	for seed, more := range []string{"scaleDownDelaySeconds: 1, maxUnavailable: 1", "dynamicStableScale: true, maxUnavailable: 1"} {
		t.Run(more, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(7, uint64(seed)))
			ns := playtest.New(t)
			createServices(t, ns, "web-canary", "web-stable")
			createObject(t, ns, sim.VirtualService("web", "web-stable", "web-canary"))
			ns.StartController()
			ns.CreateRollout(routed(4, byHost, `[{setHeaderRoute: {name: beta, match: [{headerName: x-beta, headerValue: {exact: "1"}}]}},
				{setWeight: 25}, {pause: {duration: 1}}, {setMirrorRoute: {name: copy, match: [{method: {exact: GET}}]}}, {setWeight: 75}, {pause: {duration: 1}}]`, more))
			ns.WaitForRollout("web", "to be Healthy", settledOn("1", 4))
			history := ns.Record()
			for image := 2; image <= 4; image++ {
				ns.SetImage("web", fmt.Sprintf("nginx:%d", image))
				history.KillWhileMoving(random, 3, 8)
			}
			ns.WaitForRollout("web", "to be Healthy on the last version", settled(4))
			ns.WaitForRoute(istio.VirtualService, "web", "to have lost the managed routes", httpRoutes(""))
			promise{replicas: 4, maxUnavailable: 1, dynamic: seed == 1}.check(t, history.Stop())
		})
	}
}

// TestC37SubsetsAndManagedRoutes: subsets of a DestinationRule follow the versions, managed routes stand in their order, and both go with an abort
// and with the Rollout itself.
func TestC37SubsetsAndManagedRoutes(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	createServices(t, ns, "web-canary", "web-stable")
	service := sim.VirtualService("web", "web", "web")
	if err := unstructured.SetNestedSlice(service.Object, []any{map[string]any{"name": "primary", "route": []any{
		map[string]any{"destination": map[string]any{"host": "web", "subset": "stable"}, "weight": int64(100)},
		map[string]any{"destination": map[string]any{"host": "web", "subset": "canary"}, "weight": int64(0)},
	}}}, "spec", "http"); err != nil {
		t.Fatal(err)
	}
	createObject(t, ns, service)
	rule := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "web"}, "spec": map[string]any{"host": "web", "subsets": []any{
		map[string]any{"name": "canary", "labels": map[string]any{"app": "web"}}, map[string]any{"name": "stable"}, map[string]any{"name": "gold", "labels": map[string]any{"tier": "gold"}},
	}}}}
	rule.SetGroupVersionKind(istio.DestinationRule)
	createObject(t, ns, rule)
	ns.StartController()
	rollout := ns.CreateRollout(routed(2, bySubset, `[{setWeight: 50}, {setHeaderRoute: {name: beta, match: [{headerName: x-beta, headerValue: {prefix: "1"}}]}}, {pause: {}}]`, ""))
	first := ns.WaitForRollout("web", "to be Healthy", settledOn("1", 2)).Status.StableRS
	ns.WaitForRoute(istio.DestinationRule, "web", "to select the first version", subsets(first, first))
	ns.SetImage("web", "nginx:2")
	second := ns.WaitForRollout("web", "to pause", both(playtest.Paused, weightIs(50))).Status.CurrentPodHash
	ns.WaitForRoute(istio.DestinationRule, "web", "to select both versions", subsets(second, first))
	ns.WaitForRoute(istio.VirtualService, "web", "to have the header route first", httpRoutes("beta", "primary"))

	ns.PatchStatus("web", `{"status":{"abort":true}}`)
	ns.WaitForRoute(istio.VirtualService, "web", "to have lost it after the abort", httpRoutes("primary"))
	ns.SetImage("web", "nginx:3")
	ns.WaitForRoute(istio.VirtualService, "web", "to have the header route again", httpRoutes("beta", "primary"))
	if err := ns.Client.Delete(t.Context(), rollout); err != nil {
		t.Fatal(err)
	}
	ns.WaitForRoute(istio.VirtualService, "web", "to have lost it with the Rollout", func(o *unstructured.Unstructured) bool {
		return httpRoutes("primary")(o) && o.GetAnnotations()[v1alpha1.IstioNotesAnnotation] == ""
	})
	ns.WaitForRoute(istio.DestinationRule, "web", "to be released with the Rollout", func(o *unstructured.Unstructured) bool {
		return subsets("", "")(o) && o.GetAnnotations()[v1alpha1.ManagedByAnnotation] == ""
	})
}

// TestC37AnotherNamespace: a VirtualService of another namespace is not touched before its owner allows it.
func TestC37AnotherNamespace(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	edge := ns.Neighbor()
	createServices(t, ns, "web-canary", "web-stable")
	host := func(name string) string { return name + "." + ns.Name + ".svc.cluster.local" }
	theirs := sim.VirtualService("web", host("web-stable"), host("web-canary"))
	createObject(t, edge, theirs)
	ns.StartClusterController()
	ns.CreateRollout(labeled(routed(1, fmt.Sprintf(`{istio: {virtualService: {name: web.%s}}}`, edge.Name), `[{setWeight: 50}, {pause: {}}]`, ""), ns))
	ns.WaitForRollout("web", "to say that it may not use the VirtualService", func(ro *v1alpha1.Rollout) bool {
		return slices.ContainsFunc(ro.Status.Conditions, func(c v1alpha1.RolloutCondition) bool {
			return c.Type == v1alpha1.ConditionInvalidSpec && strings.Contains(c.Message, "whose routes this Rollout may not use")
		})
	})
	allow := &unstructured.Unstructured{}
	allow.SetGroupVersionKind(istio.VirtualService)
	allow.SetNamespace(edge.Name)
	allow.SetName("web")
	allow.SetAnnotations(map[string]string{v1alpha1.RolloutNamespacesAnnotation: ns.Name})
	if err := ns.Client.Patch(t.Context(), allow, client.Merge); err != nil {
		t.Fatal(err)
	}
	ns.WaitForRollout("web", "to be Healthy", settledOn("1", 1))
	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to pause", both(playtest.Paused, weightIs(50)))
	edge.WaitForRoute(istio.VirtualService, "web", "to split", func(o *unstructured.Unstructured) bool {
		routes, _, _ := unstructured.NestedSlice(o.Object, "spec", "http")
		return fmt.Sprint(routes) == fmt.Sprintf("[map[route:[map[destination:map[host:%s] weight:50] map[destination:map[host:%s] weight:50]]]]", host("web-stable"), host("web-canary"))
	})
}

// httpRoutes are the names of the http routes of a VirtualService, in their order.
func httpRoutes(want ...string) func(*unstructured.Unstructured) bool {
	return func(o *unstructured.Unstructured) bool {
		routes, _, _ := unstructured.NestedSlice(o.Object, "spec", "http")
		var have []string
		for _, route := range routes {
			name, _ := route.(map[string]any)["name"].(string)
			have = append(have, name)
		}
		return slices.Equal(have, want)
	}
}

// subsets reports whether the two subsets select these versions, and the third what it did.
func subsets(canary, stable string) func(*unstructured.Unstructured) bool {
	return func(o *unstructured.Unstructured) bool {
		list, _, _ := unstructured.NestedSlice(o.Object, "spec", "subsets")
		if len(list) != 3 {
			return false
		}
		hash := func(n int) string {
			hash, _, _ := unstructured.NestedString(list[n].(map[string]any), "labels", v1alpha1.PodTemplateHashLabel)
			return hash
		}
		tier, _, _ := unstructured.NestedString(list[2].(map[string]any), "labels", "tier")
		return hash(0) == canary && hash(1) == stable && tier == "gold" && hash(2) == ""
	}
}
