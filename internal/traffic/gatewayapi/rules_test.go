package gatewayapi

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// A rule that a user made like a managed one, but without a name, stays when the managed one goes.
func TestAUsersRuleLikeAManagedOneStays(t *testing.T) {
	header := traffic.HeaderRoute{Name: "beta", Match: []traffic.HeaderMatch{{Header: "Beta", Value: traffic.StringMatch{Kind: traffic.Exact, Value: "1"}}}}
	owner, g := traffic.Owner{Namespace: "shop", Name: "web"}, spec.GatewayAPI{Namespace: "shop", Routes: []spec.GatewayRoute{{Kind: spec.HTTPRoute, Name: "web", Field: "routes", Managed: true}}}
	route := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"rules": []any{map[string]any{"backendRefs": []any{map[string]any{"name": "s"}, map[string]any{"name": "c"}}}}}}}
	route.SetGroupVersionKind(GVK(spec.HTTPRoute))
	route.SetNamespace("shop")
	route.SetName("web")
	split := traffic.Split{
		Max: 100, Managed: []string{"beta"}, Stable: traffic.Destination{Service: "s", Weight: 100}, Canary: traffic.Destination{Service: "c"}, Routes: []traffic.Route{header},
	}
	render := func(o *unstructured.Unstructured) *unstructured.Unstructured {
		after, problems := New(owner, g, spec.Policy{}).Render(split, traffic.Objects{traffic.KeyOf(o): o})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		return after[traffic.KeyOf(o)]
	}
	withBoth := render(route).DeepCopy()
	rules, _, _ := unstructured.NestedSlice(withBoth.Object, "spec", "rules")
	if len(rules) != 2 {
		t.Fatalf("there are %d rules with a header route, not 2", len(rules))
	}
	like := runtime.DeepCopyJSON(rules[0].(map[string]any))
	delete(like, "name")
	if err := unstructured.SetNestedSlice(withBoth.Object, append(rules, like), "spec", "rules"); err != nil {
		t.Fatal(err)
	}
	split.Routes = nil
	rules, _, _ = unstructured.NestedSlice(render(withBoth).Object, "spec", "rules")
	if len(rules) != 2 || rules[1].(map[string]any)["matches"] == nil {
		t.Errorf("the user's rule does not stay: %v", rules)
	}
}
