package gatewayapi

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// The name of a rule may have 253 letters, and that of a Rollout as many: the rules of each Rollout are found again all the same.
func TestNamesOfRules(t *testing.T) {
	long := strings.Repeat("web-", 62) + "web"
	seen := map[string]string{}
	for _, rollout := range []string{"web", "we.b", "we-b", long, long[1:], "x" + long[1:]} {
		owner := traffic.Owner{Namespace: strings.Repeat("n", 63), Name: rollout}
		r := &route{owner: owner}
		for name, session := range map[string]bool{
			r.ruleName(strings.Repeat("beta", 60), nil): false, r.ruleName("session", nil): false, sessionName(owner, "canary", 15): true,
		} {
			by, ok := adderOfName(name)
			if problems := validation.IsDNS1123Subdomain(name); !ok || by.session != session || by.owner != namePrefix(owner) || len(problems) > 0 {
				t.Errorf("%s is one of %+v, %t; %v", name, by, ok, problems)
			}
			if of, taken := seen[name]; taken {
				t.Errorf("rules of %s and of %s have the name %s", of, rollout, name)
			}
			seen[name] = rollout
		}
	}
}

// A name that fits is repeated as it is, and no more is cut off a longer one than has to be.
func TestTheLongestNameThatIsRepeated(t *testing.T) {
	fits := strings.Repeat("w", 140)
	for name, whole := range map[string]bool{"web": true, fits: true, fits + "w": false, "we.b": false} {
		prefix := namePrefix(traffic.Owner{Namespace: "shop", Name: name})
		if cut := strings.TrimSuffix(strings.TrimPrefix(prefix, "sluice.shop."), "."); (cut == name) != whole || !whole && !strings.HasPrefix(cut, strings.ReplaceAll(name[:min(len(name), 140)], ".", "-")+"-") {
			t.Errorf("the rules of %s begin with %s", name, prefix)
		}
	}
}

// A rule without backendRefs has none afterwards either.
func TestARuleWithoutBackendsStays(t *testing.T) {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"rules": []any{
		map[string]any{"name": "redirect"}, map[string]any{"backendRefs": []any{map[string]any{"name": "s"}, map[string]any{"name": "c"}}},
	}}}}
	o.SetGroupVersionKind(GVK("HTTPRoute"))
	o.SetAnnotations(map[string]string{v1alpha1.GatewayAPINotesAnnotation: `{"shop/web":{"services":{"c":[]},"stable":"s"}}`})
	released := router{owner: traffic.Owner{Namespace: "shop", Name: "web"}}.Release(o)
	rules, _, _ := unstructured.NestedSlice(released.Object, "spec", "rules")
	if diff := cmp.Diff(map[string]any{"name": "redirect"}, rules[0]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A route of which all rules are a Rollout's own has none when they are removed, not no list: that would be a patch by which the API server makes a rule of its own
// for all requests, without a backend.
func TestARouteWithoutRulesKeepsItsList(t *testing.T) {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"rules": []any{
		map[string]any{"name": "sluice.shop.web.r", "backendRefs": []any{map[string]any{"name": "web", "port": int64(80)}}},
	}}}}
	o.SetGroupVersionKind(GVK("HTTPRoute"))
	released := router{owner: traffic.Owner{Namespace: "shop", Name: "web"}}.Release(o)
	if rules, ok := released.Object["spec"].(map[string]any)["rules"].([]any); !ok || rules == nil || len(rules) != 0 {
		t.Errorf("the rules are %#v, want an empty list", released.Object["spec"])
	}
}
