package apisix_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/apisix"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance"
)

// An ApisixRoute that cannot be split is reported with what is wrong with it, and the route of a step that is there stays until it can be.
func TestAnApisixRouteThatCannotBeSplit(t *testing.T) {
	r := apisix.New(traffic.Owner{Namespace: "shop", Name: "web", UID: "1"}, spec.Apisix{Field: "apisix", RouteField: "apisix.route.name", Route: "web", Managed: []string{"beta"}})
	split := traffic.Split{
		Max: 100, Stable: traffic.Destination{Service: "web-stable", Weight: 80}, Canary: traffic.Destination{Service: "web-canary", Weight: 20},
		Routes: []traffic.Route{traffic.HeaderRoute{Name: "beta", Match: []traffic.HeaderMatch{{Header: "X-Beta"}}}},
	}
	for content, want := range map[string]string{
		"{}":                    "spec.http was not found",
		"{http: []}":            "rule web not found",
		"{http: [{name: x}]}":   "rule web not found",
		"{http: [x, 7]}":        "rule web not found",
		"{http: [{name: web}]}": "backends not found",
		"{http: [{name: web, backends: [{serviceName: web-stable}]}]}":                   "apisix route web-canary backend was not found",
		"{http: [{name: web, backends: [7, {serviceName: web-canary}]}]}":                "apisix route web-stable backend was not found",
		"{http: [{name: web, backends: [{serviceName: 7}, {serviceName: web-canary}]}]}": "apisix route web-stable backend was not found",
	} {
		objects := conformance.Parse(t, fmt.Sprintf(`{apiVersion: apisix.apache.org/v2, kind: ApisixRoute, metadata: {name: web}, spec: %s}
---
{apiVersion: apisix.apache.org/v2, kind: ApisixRoute, metadata: {name: beta, ownerReferences: [{apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: web, uid: "1", controller: true}]}}`, content), "shop")
		after, problems := r.Render(split, objects)
		if len(problems) != 1 || !strings.Contains(problems[0].Text, want) || problems[0].Field != "apisix.route.name" {
			t.Errorf("%s: the problems are %v, want %q", content, problems, want)
		}
		for key, o := range objects {
			if after[key] != o {
				t.Errorf("%s: %s does not stay as it is", content, key)
			}
		}
		if read, shown := r.Weight(split, objects); shown {
			t.Errorf("%s: the weight reads as %v", content, read)
		}
	}
}

// Weights that overflow when they are added up show nothing.
func TestWeightsThatOverflow(t *testing.T) {
	r := apisix.New(traffic.Owner{Namespace: "shop", Name: "web", UID: "1"}, spec.Apisix{Field: "apisix", RouteField: "apisix.route.name", Route: "web"})
	split := traffic.Split{Max: 100, Stable: traffic.Destination{Service: "web-stable"}, Canary: traffic.Destination{Service: "web-canary"}}
	const most = "9223372036854775807"
	objects := conformance.Parse(t, fmt.Sprintf(`{apiVersion: apisix.apache.org/v2, kind: ApisixRoute, metadata: {name: web}, spec: {http: [{name: web, backends: [
  {serviceName: web-canary, weight: %s}, {serviceName: web-canary, weight: %s}, {serviceName: web-canary, weight: 22}, {serviceName: web-stable, weight: 80}]}]}}`, most, most), "shop")
	if read, shown := r.Weight(split, objects); shown {
		t.Errorf("the weight reads as %v", read)
	}
}

// The ApisixRoute of a header route is for HTTP: streams of the one that it is made from stay there.
func TestAHeaderRouteHasNoStreams(t *testing.T) {
	r := apisix.New(traffic.Owner{Namespace: "shop", Name: "web", UID: "1"}, spec.Apisix{Field: "apisix", RouteField: "apisix.route.name", Route: "web", Managed: []string{"beta"}})
	objects := conformance.Parse(t, `{apiVersion: apisix.apache.org/v2, kind: ApisixRoute, metadata: {name: web}, spec: {stream: [{name: tcp}], http: [
  {name: web, backends: [{serviceName: web-canary}, {serviceName: web-stable}]}]}}`, "shop")
	after, problems := r.Render(traffic.Split{
		Max: 100, Stable: traffic.Destination{Service: "web-stable", Weight: 80}, Canary: traffic.Destination{Service: "web-canary", Weight: 20},
		Routes: []traffic.Route{traffic.HeaderRoute{Name: "beta", Match: []traffic.HeaderMatch{{Header: "X-Beta", Value: traffic.StringMatch{Kind: traffic.Exact, Value: "yes"}}}}},
	}, objects)
	if len(problems) > 0 || len(after) != 2 {
		t.Fatalf("rendered are %d objects, and the problems are %v", len(after), problems)
	}
	for key, o := range after {
		if _, streams := o.Object["spec"].(map[string]any)["stream"]; streams != (key.Name == "web") {
			t.Errorf("%s has streams: %t", key.Name, streams)
		}
	}
}
