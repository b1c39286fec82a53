package custom_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance/subjects"
	"github.com/sluice-delivery/sluice/internal/traffic/custom"
)

// An object takes fifty rules of header routes.
func TestFiftyRules(t *testing.T) {
	have := subjects.Routing(t, "contour", "shop")
	r := subjects.Custom(t, subjects.Rollout("shop"), "contour", nil, 0).Router
	for n, fits := range map[int]bool{50: true, 51: false} {
		route := traffic.HeaderRoute{Name: "beta"}
		for i := range n {
			route.Match = append(route.Match, traffic.HeaderMatch{Header: fmt.Sprint("X-", i), Value: traffic.StringMatch{Kind: traffic.Exact, Value: "1"}})
		}
		_, problems := r.Render(traffic.Split{
			Max: 100, Stable: traffic.Destination{Service: conformance.Stable, Weight: 80}, Canary: traffic.Destination{Service: conformance.Canary, Weight: 20}, Managed: []string{"beta"}, Routes: []traffic.Route{route},
		}, have)
		if len(problems) == 0 != fits || !fits && !strings.Contains(problems[0].Text, fmt.Sprintf("would get %d rules", n)) {
			t.Errorf("with %d rules the problems are %v", n, problems)
		}
	}
}

// A note that anyone could write names the destinations of both versions by what an entry does not have: what is no entry stays as it is.
func TestReturnByAStrangeNote(t *testing.T) {
	c, err := read("shop", []byte("{apiVersion: proxy.example.com/v1, kind: Proxy, name: web, weights: [{destinations: spec.to, service: entry.name}]}"))
	if err != nil {
		t.Fatal(err)
	}
	for key, o := range conformance.Parse(t, "{apiVersion: proxy.example.com/v1, kind: Proxy, metadata: {name: web}, spec: {to: [7, {name: s, x: 1, weight: 5}]}}", "shop") {
		o.SetAnnotations(map[string]string{v1alpha1.CustomNotesAnnotation: `{"shop/web":{"weights":[{"in":"spec.to[*]","weight":"weight","stable":{"name":"s"},"canary":{"x":null}},{"in":"spec.to","weight":"weight","stable":{"name":"s"},"canary":{"x":null}}]}}`})
		returned := custom.New(traffic.Owner{Namespace: "shop", Name: "web"}, c, spec.Policy{}).(traffic.Returner).Return(o)
		if list, _, _ := unstructured.NestedSlice(returned.Object, "spec", "to"); len(list) != 2 || list[0] != int64(7) {
			t.Errorf("%s has %v", key, list)
		}
	}
}
