package nginx_test

import (
	"fmt"
	"testing"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance"
	"github.com/sluice-delivery/sluice/internal/traffic/nginx"
)

// The weight is what the annotations of the canary Ingress say, as far as ingress-nginx could carry that out.
func TestTheWeightOfAnnotations(t *testing.T) {
	const canary = "nginx.ingress.kubernetes.io/canary: 'true'"
	owner := traffic.Owner{Namespace: "shop", Name: "web", UID: "1"}
	setup := spec.Nginx{Field: "nginx", Prefix: "nginx.ingress.kubernetes.io", StableIngresses: []spec.NginxIngress{{Field: "nginx.stableIngress", Name: "web"}}}
	split := traffic.Split{Max: 100, Stable: traffic.Destination{Service: "web-stable", Weight: 80}, Canary: traffic.Destination{Service: "web-canary", Weight: 20}}
	for name, row := range map[string]struct {
		annotations string
		want        int32
		shown       bool
	}{
		"a weight":                      {canary + ", nginx.ingress.kubernetes.io/canary-weight: '20'", 20, true},
		"none, which is 0":              {canary, 0, true},
		"of another total":              {canary + ", nginx.ingress.kubernetes.io/canary-weight: '20', nginx.ingress.kubernetes.io/canary-weight-total: '200'", 10, true},
		"large":                         {canary + ", nginx.ingress.kubernetes.io/canary-weight: '1073741824', nginx.ingress.kubernetes.io/canary-weight-total: '1073741824'", 100, true},
		"more than the total":           {canary + ", nginx.ingress.kubernetes.io/canary-weight: '120'", 0, false},
		"negative":                      {canary + ", nginx.ingress.kubernetes.io/canary-weight: '-1'", 0, false},
		"no number":                     {canary + ", nginx.ingress.kubernetes.io/canary-weight: some", 0, false},
		"of a total that is no number":  {canary + ", nginx.ingress.kubernetes.io/canary-weight: '20', nginx.ingress.kubernetes.io/canary-weight-total: all", 0, false},
		"of a total of nothing":         {canary + ", nginx.ingress.kubernetes.io/canary-weight: '0', nginx.ingress.kubernetes.io/canary-weight-total: '0'", 0, false},
		"beyond what weights can be":    {canary + ", nginx.ingress.kubernetes.io/canary-weight: '99999999999'", 0, false},
		"that is not a canary's weight": {"nginx.ingress.kubernetes.io/canary: 'false', nginx.ingress.kubernetes.io/canary-weight: '20'", 0, false},
	} {
		objects := conformance.Parse(t, fmt.Sprintf(`{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: web}}
---
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: web-web-canary, annotations: {%s}, ownerReferences: [{apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: web, uid: "1", controller: true}]}}`, row.annotations), "shop")
		read, shown := nginx.New(owner, setup).Weight(split, objects)
		if shown != row.shown || shown && read != (traffic.Interval{Least: row.want, Most: row.want}) {
			t.Errorf("%s: %v, shown: %t; want %d, %t", name, read, shown, row.want, row.shown)
		}
	}
	setup.StableIngresses = nil
	if read, shown := nginx.New(owner, setup).Weight(split, traffic.Objects{}); shown {
		t.Errorf("without an Ingress the weight reads as %v", read)
	}
}
