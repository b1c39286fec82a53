package routers_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

// An object of a kind that the cluster does not have is not to be created: first its product must be installed.
func TestAKindThatTheClusterLacks(t *testing.T) {
	istio := spec.Istio{Field: "istio", VirtualServices: []spec.IstioVirtualService{{Field: "istio.virtualService.name", Name: "web", Namespace: "shop"}}}
	traefik := spec.Traefik{Field: "traefik", ServiceField: "traefik.weightedTraefikServiceName", Service: "web"}
	custom := spec.Custom{Field: "custom[0]", NameField: "custom[0].name", Kind: proxy, Namespace: "shop", Name: "web"}
	kind := func(group, kind string) schema.GroupKind { return schema.GroupKind{Group: group, Kind: kind} }
	for name, c := range map[string]struct {
		router spec.Router
		lacks  []schema.GroupKind
		want   string
	}{
		"it has them":              {istio, nil, "create it, or name one that exists"},
		"it lacks another one":     {istio, []schema.GroupKind{kind("traefik.io", "TraefikService")}, "create it"},
		"it lacks VirtualServices": {istio, []schema.GroupKind{kind("networking.istio.io", "VirtualService")}, "does not have the kind VirtualService.networking.istio.io: install Istio, for example with: helm install istio-base"},
		"it has one of two groups": {traefik, []schema.GroupKind{kind("traefik.containo.us", "TraefikService")}, "create it"},
		"it lacks a kind that is named by it": {
			custom,
			[]schema.GroupKind{kind("projectcontour.io", "HTTPProxy")},
			"does not have the kind HTTPProxy.projectcontour.io in this version, or it is cluster-scoped: install its CRD, or name a namespaced kind",
		},
		"it has neither": {traefik, []schema.GroupKind{kind("traefik.containo.us", "TraefikService"), kind("traefik.io", "TraefikService")}, "install Traefik"},
	} {
		t.Run(name, func(t *testing.T) {
			router := routers.For(traffic.Owner{Namespace: "shop", Name: "web"}, []spec.Router{c.router}, spec.Policy{Unserved: c.lacks})[0]
			_, problems := router.Render(traffic.Split{Max: 100}, traffic.Objects{})
			if len(problems) != 1 || !strings.Contains(problems[0].String(), c.want) || problems[0].Missing == "" {
				t.Errorf("got %v, want %q", problems, c.want)
			}
		})
	}
}

var proxy = schema.GroupVersionKind{Group: "projectcontour.io", Version: "v1", Kind: "HTTPProxy"}

// For each kind of a router it is known how the controller gets the rights on it, by a component that exists.
func TestRights(t *testing.T) {
	for _, gvk := range routers.Kinds() {
		if text := routers.Rights(gvk); !strings.Contains(text, "config/r") {
			t.Errorf("%s: %s", gvk, text)
		}
	}
	if text := routers.Rights(proxy); !strings.Contains(text, `with a ClusterRole that has the label rollouts.argoproj.io/aggregate-to-custom-routes: "true"`) || !strings.HasSuffix(text, "config/routers/custom") {
		t.Error(text)
	}
	if text := routers.Rights(schema.GroupVersionKind{Group: "networking.istio.io", Kind: "VirtualService"}); !strings.HasSuffix(text, "with the Helm value rbac.routers.istio=true or the kustomize component config/routers/istio") {
		t.Error(text)
	}
}
