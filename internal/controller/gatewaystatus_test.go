package controller_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
	"github.com/sluice-delivery/sluice/internal/traffic/gatewayapi"
)

// TestGatewayStatus: a step does not end, and no pod is removed, before the Gateway has accepted the weights. What it cannot carry out is shown.
func TestGatewayStatus(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	manifest := routed(2, `{gatewayAPI: {httpRoute: web}}`, `[{setWeight: 50}, {pause: {}}]`, "abortScaleDownDelaySeconds: 1")
	createRoute(t, ns, manifest)
	ns.StartController("--gateway-status-timeout=1h")
	ns.CreateRollout(manifest)
	ns.WaitForRollout("web", "to be Healthy, which waits for no Gateway", settledOn("1", 2))
	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to wait for the Gateway at the first step", func(ro *v1alpha1.Rollout) bool {
		return strings.HasPrefix(ro.Status.Message, "waiting for Gateway "+ns.Name+"/gateway to accept generation ") && *ro.Status.CurrentStepIndex == 0
	})
	gatewaySays(t, ns, "True", "False")
	ns.WaitForRollout("web", "to say what the Gateway lacks", func(ro *v1alpha1.Rollout) bool {
		return ro.Status.Phase == v1alpha1.RolloutPhaseDegraded && strings.Contains(ro.Status.Message, "cannot resolve the references") && *ro.Status.CurrentStepIndex == 0
	})
	ns.WaitForEvents("web", "WeightVerifyError Failed to verify weight: Gateway")
	gatewaySays(t, ns, "True", "True")
	ns.WaitForRollout("web", "to pause", both(playtest.Paused, weightIs(50)))

	ns.PatchStatus("web", `{"status":{"abort":true}}`)
	ns.WaitForRoute(gatewayapi.GVK("HTTPRoute"), "web", "to send nothing to the canary", func(o *unstructured.Unstructured) bool {
		rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules")
		refs, _, _ := unstructured.NestedSlice(rules[0].(map[string]any), "backendRefs")
		return len(refs) == 1
	})
	ns.WaitForRollout("web", "to wait with the pods of the canary", func(ro *v1alpha1.Rollout) bool {
		return strings.HasPrefix(ro.Status.Message, "waiting for Gateway ") && ro.Status.Canary.Weights.Canary.Weight == 50
	})
	for _, set := range ns.ReplicaSets() {
		if *set.Spec.Replicas == 0 {
			t.Errorf("ReplicaSet %s has lost its pods before the Gateway sends nothing to them", set.Name)
		}
	}
	gatewaySays(t, ns, "True", "True")
	ns.WaitForRollout("web", "to have removed them", both(pods(2), weightIs(0)))
}

// TestGatewayCannotKeepClients: a Gateway that cannot match headers by expressions, or set headers for each backend, says so about the route. The update
// stays at its first weight with that message, and an abort takes the rules back.
func TestGatewayCannotKeepClients(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	k := keepers["GatewayAPI"]
	createServices(t, ns, "web-canary", "web-stable")
	createObject(t, ns, k.object())
	ns.StartController("--gateway-status-timeout=1h")
	ns.CreateRollout(routed(2, k.router, `[{setWeight: 50}, {pause: {}}]`, "abortScaleDownDelaySeconds: 1"))
	first := ns.WaitForRollout("web", "to be Healthy", settledOn("1", 2)).Status.StableRS
	ns.SetImage("web", "nginx:2")
	second := ns.WaitForRollout("web", "to wait for the Gateway", func(ro *v1alpha1.Rollout) bool {
		return strings.HasPrefix(ro.Status.Message, "waiting for Gateway ")
	}).Status.CurrentPodHash
	k.wait(ns, "to ask for sessions", k.keeps(first, second))
	gatewaySaysWhy(t, ns, "False", "True", "UnsupportedValue")
	ns.WaitForRollout("web", "to say what the Gateway cannot do", func(ro *v1alpha1.Rollout) bool {
		return ro.Status.Phase == v1alpha1.RolloutPhaseDegraded && *ro.Status.CurrentStepIndex == 0 &&
			strings.Contains(ro.Status.Message, `does not accept HTTPRoute "web": UnsupportedValue: of a test`)
	})
	ns.PatchStatus("web", `{"status":{"abort":true}}`)
	k.wait(ns, "to be as people wrote it", k.released)
	gatewaySays(t, ns, "True", "True")
	ns.WaitForRollout("web", "to be back at the stable version", both(pods(2), weightIs(0)))
}

// gatewaySays writes the status of the route for its current generation.
func gatewaySays(t *testing.T, ns *playtest.Namespace, accepted, resolved string) {
	t.Helper()
	gatewaySaysWhy(t, ns, accepted, resolved, "Because")
}

func gatewaySaysWhy(t *testing.T, ns *playtest.Namespace, accepted, resolved, reason string) {
	t.Helper()
	route := &unstructured.Unstructured{}
	route.SetGroupVersionKind(gatewayapi.GVK("HTTPRoute"))
	if err := ns.Client.Get(t.Context(), types.NamespacedName{Namespace: ns.Name, Name: "web"}, route); err != nil {
		t.Fatal(err)
	}
	c := func(kind, status string) any {
		return map[string]any{
			"type": kind, "status": status, "reason": reason, "message": "of a test", "observedGeneration": route.GetGeneration(), "lastTransitionTime": "2026-01-01T00:00:00Z",
		}
	}
	parents := []any{map[string]any{
		"parentRef": map[string]any{"name": "gateway"}, "controllerName": "example.com/gateway", "conditions": []any{c("Accepted", accepted), c("ResolvedRefs", resolved)},
	}}
	if err := unstructured.SetNestedSlice(route.Object, parents, "status", "parents"); err != nil {
		t.Fatal(err)
	}
	if err := ns.Client.Status().Update(t.Context(), route); err != nil {
		t.Fatal(err)
	}
}
