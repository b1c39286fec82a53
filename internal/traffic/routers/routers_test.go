package routers_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

func TestFor(t *testing.T) {
	owner := traffic.Owner{Namespace: "shop", Name: "web"}
	all := routers.For(owner, []spec.Router{
		spec.Nginx{StableIngresses: []spec.NginxIngress{{Name: "web", Field: "nginx"}}},
		spec.GatewayAPI{Namespace: "edge", Routes: []spec.GatewayRoute{{Kind: spec.HTTPRoute, Name: "web", Field: "gatewayAPI"}}, ConfigMap: "notes"},
	}, spec.Policy{})
	var got []string
	for _, router := range all {
		for _, ref := range router.Refs() {
			got = append(got, router.Name()+" "+ref.GroupVersionKind.String()+" "+ref.NamespacedName.String()+" "+ref.Field)
		}
	}
	want := []string{
		"Nginx networking.k8s.io/v1, Kind=Ingress shop/web nginx",
		"Nginx networking.k8s.io/v1, Kind=Ingress shop/web-web-canary ",
		"GatewayAPI gateway.networking.k8s.io/v1, Kind=HTTPRoute edge/web gatewayAPI",
		"GatewayAPI /v1, Kind=ConfigMap edge/notes .configMap",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
