package controller_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
	"github.com/sluice-delivery/sluice/internal/sim"
)

// The owner of a route lets the Rollouts of another namespace use it by a ReferenceGrant, and only that route, as long as the grant is there.
func TestAReferenceGrantIsConsent(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	owner := ns.Neighbor()
	createServices(t, ns, "web-canary", "web-stable")
	grant := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"from": []any{map[string]any{"group": v1alpha1.Group, "kind": "Rollout", "namespace": ns.Name}},
		"to":   []any{map[string]any{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "shared"}},
	}}}
	grant.SetGroupVersionKind(schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1beta1", Kind: "ReferenceGrant"})
	grant.SetName("rollouts")
	createObject(t, owner, grant)
	var private, shared *unstructured.Unstructured
	for name, route := range map[string]**unstructured.Unstructured{"private": &private, "shared": &shared} {
		o := sim.HTTPRoute(name, "web-stable")
		if err := unstructured.SetNestedSlice(o.Object, []any{map[string]any{
			"matches":     []any{map[string]any{"path": map[string]any{"type": "PathPrefix", "value": "/"}}},
			"backendRefs": []any{map[string]any{"name": "web-stable", "namespace": ns.Name, "port": int64(80)}},
		}}, "spec", "rules"); err != nil {
			t.Fatal(err)
		}
		createObject(t, owner, o)
		*route = o
	}

	ns.StartClusterController()
	router := fmt.Sprintf(`{gatewayAPI: {httpRoute: private, namespace: %s}}`, owner.Name)
	ns.CreateRollout(labeled(routed(1, router, `[{setWeight: 20}, {pause: {}}]`, ""), ns))
	ns.WaitForRollout("web", "to be told that the route is not its to use", func(ro *v1alpha1.Rollout) bool {
		return strings.Contains(ro.Status.Message, `HTTPRoute "private" belongs to namespace `+owner.Name) && strings.Contains(ro.Status.Message, "ReferenceGrant")
	})
	ns.Patch("web", `{"spec":{"strategy":{"canary":{"trafficRouting":{"gatewayAPI":{"httpRoute":"shared"}}}}}}`)
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to pause at 20 %", both(playtest.Paused, weightIs(20)))
	owner.WaitForRoute(shared.GroupVersionKind(), "shared", "to be split", weights(20, 80))
	owner.WaitForRoute(private.GroupVersionKind(), "private", "to be as it was", func(o *unstructured.Unstructured) bool {
		return o.GetResourceVersion() == private.GetResourceVersion()
	})

	// Only the watch of grants makes the controller look again at a Rollout whose consent is withdrawn or given again.
	if err := owner.Client.Delete(t.Context(), grant.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	ns.WaitForRollout("web", "to be told that the consent was withdrawn", func(ro *v1alpha1.Rollout) bool {
		return strings.Contains(ro.Status.Message, `HTTPRoute "shared" belongs to namespace `+owner.Name)
	})
	grant.SetResourceVersion("")
	grant.SetUID("")
	createObject(t, owner, grant)
	ns.WaitForRollout("web", "to pause again", both(playtest.Paused, weightIs(20)))
}
