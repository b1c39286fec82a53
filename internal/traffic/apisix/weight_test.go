package apisix_test

import (
	"fmt"
	"testing"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/apisix"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance"
)

// Rules that were left with different weights show all that lies between them, and what cannot be read shows none.
func TestTheWeightOfSeveralRules(t *testing.T) {
	r := apisix.New(traffic.Owner{Namespace: "shop", Name: "web", UID: "1"}, spec.Apisix{Field: "apisix", RouteField: "apisix.route.name", Route: "web", Rules: []string{"first", "second"}})
	split := traffic.Split{Max: 100, Stable: traffic.Destination{Service: "web-stable", Weight: 80}, Canary: traffic.Destination{Service: "web-canary", Weight: 20}}
	for name, row := range map[string]struct {
		second  string
		weights [4]string
		want    traffic.Interval
		shown   bool
	}{
		"equal":               {"second", [4]string{"20", "80", "20", "80"}, traffic.Interval{Least: 20, Most: 20}, true},
		"the second has more": {"second", [4]string{"20", "80", "40", "60"}, traffic.Interval{Least: 20, Most: 40}, true},
		"the second has less": {"second", [4]string{"20", "80", "0", "100"}, traffic.Interval{Least: 0, Most: 20}, true},
		"large":               {"second", [4]string{"1", "1", "1000000", "1000000"}, traffic.Interval{Least: 50, Most: 50}, true},
		"too large to add":    {"second", [4]string{"20", "80", "9223372036854775807", "9223372036854775807"}, traffic.Interval{}, false},
		"negative":            {"second", [4]string{"20", "80", "-20", "80"}, traffic.Interval{}, false},
		"no number":           {"second", [4]string{"20", "80", "x", "80"}, traffic.Interval{}, false},
		"a rule is missing":   {"third", [4]string{"20", "80", "20", "80"}, traffic.Interval{}, false},
	} {
		w := row.weights
		objects := conformance.Parse(t, fmt.Sprintf(`{apiVersion: apisix.apache.org/v2, kind: ApisixRoute, metadata: {name: web}, spec: {http: [
  {name: first, backends: [{serviceName: web-canary, weight: %s}, {serviceName: web-stable, weight: %s}]},
  {name: %s, backends: [{serviceName: web-canary, weight: %s}, {serviceName: web-stable, weight: %s}]}]}}`, w[0], w[1], row.second, w[2], w[3]), "shop")
		if read, shown := r.Weight(split, objects); shown != row.shown || shown && read != row.want {
			t.Errorf("%s: %v, shown: %t; want %v, %t", name, read, shown, row.want, row.shown)
		}
	}
}
