package traefik_test

import (
	"fmt"
	"testing"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance"
	"github.com/sluice-delivery/sluice/internal/traffic/traefik"
)

// Where both API groups have the TraefikService, its weights may differ. One that cannot be read shows none.
func TestTheWeightInBothGroups(t *testing.T) {
	r := traefik.New(traffic.Owner{Namespace: "shop", Name: "web"}, spec.Traefik{Field: "traefik", ServiceField: "traefik.service", Service: "web"})
	split := traffic.Split{Max: 100, Stable: traffic.Destination{Service: "s"}, Canary: traffic.Destination{Service: "c"}}
	for former, want := range map[string]traffic.Interval{"30": {Least: 20, Most: 30}, "20": {Least: 20, Most: 20}, "0": {Least: 0, Most: 20}, "-1": {}, "x": {}} {
		objects := conformance.Parse(t, fmt.Sprintf(`{apiVersion: traefik.io/v1alpha1, kind: TraefikService, metadata: {name: web}, spec: {weighted: {services: [{name: s, weight: 80}, {name: c, weight: 20}]}}}
---
{apiVersion: traefik.containo.us/v1alpha1, kind: TraefikService, metadata: {name: web}, spec: {weighted: {services: [{name: s, weight: %s}, {name: c, weight: %s}]}}}`,
			map[string]string{"30": "70", "20": "80", "0": "100", "-1": "101", "x": "100"}[former], former), "shop")
		if read, shown := r.Weight(split, objects); read != want || shown != (want != traffic.Interval{}) {
			t.Errorf("with 20 and %s it reads as %v, %t; want %v", former, read, shown, want)
		}
	}
}
