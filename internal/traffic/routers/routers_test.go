package routers_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

// The binary of the Gateway API plugin cannot be asked to keep clients on a version. That is reported while both versions would have traffic, and
// holds up neither a promotion nor an abort.
func TestBinaryKeepsNobody(t *testing.T) {
	g := spec.GatewayAPI{
		Sessions: spec.Sessions{Cookie: "web", MaxAge: 60}, Plugin: spec.Plugin{Field: "plugin", Name: "argoproj-labs/gatewayAPI", Sessions: spec.Sessions{Cookie: "web", MaxAge: 60}},
	}
	router := routers.For(traffic.Owner{Namespace: "shop", Name: "web"}, []spec.Router{g}, spec.Policy{GatewayAPIBinary: true})[0]
	const problem = "plugin: its binary cannot keep clients on a version: remove trafficRouting.sessionAffinity, or preferBinary of the plugin in the ConfigMap argo-rollouts-config"
	for weight, want := range map[int32][]string{0: nil, 20: {problem}, 100: nil} {
		split := traffic.Split{Max: 100, Stable: traffic.Destination{Service: "a", Weight: 100 - weight}, Canary: traffic.Destination{Service: "b", Weight: weight}}
		_, problems := router.Render(split, nil)
		var got []string
		for _, p := range problems {
			got = append(got, p.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("at %d %% (-want +got)\n%s", weight, diff)
		}
	}
}

// The plugin of the Gateway API is a binary only where the controller's administrator prefers it, and the spec names the plugin.
func TestTheBinaryIsPreferred(t *testing.T) {
	named := spec.GatewayAPI{Plugin: spec.Plugin{Field: "plugin", Name: "argoproj-labs/gatewayAPI"}}
	for name, row := range map[string]struct {
		of     spec.GatewayAPI
		policy spec.Policy
		want   string
	}{
		"the plugin":              {named, spec.Policy{}, "GatewayAPI"},
		"the binary":              {named, spec.Policy{GatewayAPIBinary: true}, "argoproj-labs/gatewayAPI"},
		"the router of this name": {spec.GatewayAPI{}, spec.Policy{GatewayAPIBinary: true}, "GatewayAPI"},
	} {
		all := routers.For(traffic.Owner{Namespace: "shop", Name: "web"}, []spec.Router{row.of}, row.policy)
		if len(all) != 1 || all[0].Name() != row.want {
			t.Errorf("%s: %d routers, and the first is %q, want %q", name, len(all), all[0].Name(), row.want)
		}
	}
}

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
