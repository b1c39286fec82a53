package custom_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// Anyone can write a note. One that does not tell both versions from everything else changes nothing.
func TestReturnByAStrangeNote(t *testing.T) {
	c, err := read("shop", []byte("{apiVersion: proxy.example.com/v1, kind: Proxy, name: web, weights: [{destinations: spec.to, service: entry.name}]}"))
	if err != nil {
		t.Fatal(err)
	}
	for what, note := range map[string]string{
		"by what an entry does not have": `"weight":"weight","stable":{"name":"s"},"canary":{"x":null}`,
		"without the canary":             `"weight":"weight","stable":{"name":"s"}`,
		"without the stable version":     `"weight":"weight","canary":{"name":"c"}`,
		"a weight at no path":            `"weight":"weight[","stable":{"name":"s"},"canary":{"name":"c"}`,
		"a weight nowhere":               `"stable":{"name":"s"},"canary":{"name":"c"}`,
	} {
		for _, o := range conformance.Parse(t, "{apiVersion: proxy.example.com/v1, kind: Proxy, metadata: {name: web}, spec: {to: [7, {name: other, x: 1, weight: 3}, {name: s, x: 1, weight: 5}, {name: c, x: 1, weight: 4}]}}", "shop") {
			o.SetAnnotations(map[string]string{v1alpha1.CustomNotesAnnotation: `{"shop/web":{"weights":[{"in":"spec.to",` + note + `}]}}`})
			returned := custom.New(traffic.Owner{Namespace: "shop", Name: "web"}, c, spec.Policy{}).(traffic.Returner).Return(o)
			if diff := cmp.Diff(o.Object["spec"], returned.Object["spec"]); diff != "" {
				t.Errorf("%s (-before +after)\n%s", what, diff)
			}
		}
	}
}
