package istio_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/istio"
)

// The managed route of another Rollout in the same VirtualService stays where it is, and a Rollout that would manage one of this name is told.
func TestAnothersManagedRouteStays(t *testing.T) {
	have := traffic.Objects{}
	before := add(have, istio.VirtualService, "web", map[string]any{"http": []any{
		map[string]any{"name": "theirs", "route": routeOf("other:100")}, map[string]any{"name": "main", "route": routeOf("s:100 c:0")},
	}})
	before.SetAnnotations(map[string]string{v1alpha1.IstioNotesAnnotation: `{"shop/other":{"routes":["theirs"]}}`})
	i := oneService()
	i.VirtualServices[0].Routes = []string{"main"}
	for managed, problem := range map[string]string{"ours": "", "theirs": `the managed route "theirs" is that of Rollout shop/other: rename one of the two in managedRoutes`} {
		want := traffic.Split{
			Max: 100, Managed: []string{managed}, Stable: traffic.Destination{Service: "s", Weight: 70}, Canary: traffic.Destination{Service: "c", Weight: 30},
		}
		after, problems := istio.New(traffic.Owner{Namespace: "shop", Name: "web"}, i, spec.Policy{}).Render(want, have)
		routes, _, _ := unstructured.NestedSlice(after[traffic.KeyOf(before)].Object, "spec", "http")
		if len(routes) != 2 || routes[0].(map[string]any)["name"] != "theirs" {
			t.Errorf("with the managed route %q the routes are %v", managed, routes)
		}
		told := len(problems) == 1 && strings.HasSuffix(problems[0].Text, problem)
		if problem == "" && len(problems) > 0 || problem != "" && !told {
			t.Errorf("with the managed route %q the problems are %v, want %q", managed, problems, problem)
		}
	}
}

// An experiment of which two templates share a Service has one destination for it.
func TestADestinationIsAddedOnce(t *testing.T) {
	have := traffic.Objects{}
	before := add(have, istio.VirtualService, "web", map[string]any{"http": []any{map[string]any{"route": routeOf("s:90 c:10")}}})
	want := traffic.Split{
		Max: 100, Stable: traffic.Destination{Service: "s", Weight: 85}, Canary: traffic.Destination{Service: "c", Weight: 10},
		Additional: []traffic.Destination{{Service: "e", Weight: 5}, {Service: "e", Weight: 5}},
	}
	after, _ := istio.New(traffic.Owner{Namespace: "shop", Name: "web"}, oneService(), spec.Policy{}).Render(want, have)
	if got := routeText(after[traffic.KeyOf(before)]); got != "s:85 c:10 e:5" {
		t.Errorf("the destinations are %s", got)
	}
}

// Whichever client wrote a weight, it is read if it is one.
func TestWeightsOfClients(t *testing.T) {
	for name, row := range map[string]struct {
		canary, stable any
		want           int32
		shown          bool
	}{
		"whole numbers":          {int64(30), int64(70), 30, true},
		"of a client for JSON":   {float64(30), float64(70), 30, true},
		"not decoded":            {json.Number("30"), json.Number("70"), 30, true},
		"none for the canary":    {nil, int64(100), 0, true},
		"a fraction":             {30.5, float64(70), 0, false},
		"a fraction, as text":    {json.Number("30.5"), int64(70), 0, false},
		"beyond what can be":     {float64(1 << 40), int64(70), 0, false},
		"a text":                 {"30", int64(70), 0, false},
		"less than nothing":      {int64(-30), int64(130), 0, false},
		"a negative stable part": {int64(30), int64(-70), 0, false},
	} {
		have := traffic.Objects{}
		entry := func(host string, weight any) map[string]any {
			of := map[string]any{"destination": map[string]any{"host": host}}
			if weight != nil {
				of["weight"] = weight
			}
			return of
		}
		add(have, istio.VirtualService, "web", map[string]any{"http": []any{map[string]any{"route": []any{entry("s", row.stable), entry("c", row.canary)}}}})
		split := traffic.Split{Max: 100, Stable: traffic.Destination{Service: "s"}, Canary: traffic.Destination{Service: "c"}}
		read, shown := istio.New(traffic.Owner{Namespace: "shop", Name: "web"}, oneService(), spec.Policy{}).Weight(split, have)
		if shown != row.shown || shown && read != (traffic.Interval{Least: row.want, Most: row.want}) {
			t.Errorf("%s: it reads as %v, %t; want %d, %t", name, read, shown, row.want, row.shown)
		}
	}
}

// Two templates of an experiment that share a Service have one destination, which has the weight of the first.
func TestTemplatesThatShareAService(t *testing.T) {
	have := traffic.Objects{}
	key := traffic.KeyOf(add(have, istio.VirtualService, "web", map[string]any{"http": []any{map[string]any{"route": routeOf("s:100 c:0")}}}))
	want := traffic.Split{
		Max: 100, Stable: traffic.Destination{Service: "s", Weight: 60}, Canary: traffic.Destination{Service: "c", Weight: 20},
		Additional: []traffic.Destination{{Service: "e", Weight: 10}, {Service: "e", Weight: 10}},
	}
	r := istio.New(traffic.Owner{Namespace: "shop", Name: "web"}, oneService(), spec.Policy{})
	once, problems := r.Render(want, have)
	twice, _ := r.Render(want, once)
	if len(problems) > 0 || twice[key] != once[key] {
		t.Errorf("rendering it again changes it, or there are problems: %v\n%v\n%v", problems, once[key], twice[key])
	}
	add(have, istio.VirtualService, "web", map[string]any{"http": []any{map[string]any{"route": routeOf("s.shop.svc:100 c.shop.svc:0")}}})
	once, _ = r.Render(want, have)
	routes, _, _ := unstructured.NestedSlice(once[key].Object, "spec", "http")
	if diff := cmp.Diff(routeOf("s.shop.svc:70 c.shop.svc:20 e:10"), routes[0].(map[string]any)["route"]); diff != "" {
		t.Errorf("where the Services have their namespace (-want +got)\n%s", diff)
	}
}

// What returns to the stable version is what both versions have, and nothing of what is not theirs. What is no weight counts as none.
func TestReturnAddsNothing(t *testing.T) {
	for canary, total := range map[any]int64{nil: 40, int64(15): 55, "x": 40, int64(-7): 40, int64(90): 100} {
		route := routeOf("s:40 c other:60")
		route[1].(map[string]any)["weight"] = canary
		o := add(traffic.Objects{}, istio.VirtualService, "web", map[string]any{"http": []any{map[string]any{"route": route}}})
		o.SetAnnotations(map[string]string{v1alpha1.IstioNotesAnnotation: `{"shop/web":{"services":["c"],"stable":"s"}}`})
		after := istio.New(traffic.Owner{Namespace: "shop", Name: "web"}, oneService(), spec.Policy{}).(traffic.Returner).Return(o)
		routes, _, _ := unstructured.NestedSlice(after.Object, "spec", "http")
		list := routes[0].(map[string]any)["route"].([]any)
		if stable := list[0].(map[string]any)["weight"]; stable != total {
			t.Errorf("with %v for the canary, the stable version gets %v, not %d", canary, stable, total)
		}
		if left := list[1].(map[string]any)["weight"]; left != nil && left != int64(0) {
			t.Errorf("with %v for the canary, %v of it is left", canary, left)
		}
	}
}

// A DestinationRule is that of one Rollout, and a VirtualService may have notes of several.
func TestOwners(t *testing.T) {
	objects := traffic.Objects{}
	rule, service := add(objects, istio.DestinationRule, "web", nil), add(objects, istio.VirtualService, "web", nil)
	for _, o := range []*unstructured.Unstructured{rule, service} {
		o.SetAnnotations(map[string]string{v1alpha1.ManagedByAnnotation: "web", v1alpha1.IstioNotesAnnotation: `{"shop/other":{"stable":"s"},"edge/web":{"stable":"s"}}`})
	}
	name := func(namespace, name string) types.NamespacedName {
		return types.NamespacedName{Namespace: namespace, Name: name}
	}
	if diff := cmp.Diff([]types.NamespacedName{name("shop", "web")}, istio.Owners(rule)); diff != "" {
		t.Errorf("of the DestinationRule (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]types.NamespacedName{name("edge", "web"), name("shop", "other")}, istio.Owners(service)); diff != "" {
		t.Errorf("of the VirtualService (-want +got)\n%s", diff)
	}
}
