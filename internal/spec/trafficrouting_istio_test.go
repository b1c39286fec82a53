package spec

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

const istio = routing + ".istio"

func mesh(i v1alpha1.IstioTrafficRouting, managed ...string) *v1alpha1.RolloutTrafficRouting {
	t := &v1alpha1.RolloutTrafficRouting{Istio: &i}
	for _, name := range managed {
		t.ManagedRoutes = append(t.ManagedRoutes, v1alpha1.ManagedRoute{Name: name})
	}
	return t
}

func oneService(name string) v1alpha1.IstioTrafficRouting {
	return v1alpha1.IstioTrafficRouting{VirtualService: &v1alpha1.IstioVirtualService{Name: name}}
}

// TestSessionAffinity: what keeps clients on a version is refused by name where it cannot be.
func TestSessionAffinity(t *testing.T) {
	age := int32(0)
	for name, c := range map[string]struct {
		canary v1alpha1.CanaryStrategy
		want   []string
	}{
		"istio": {v1alpha1.CanaryStrategy{TrafficRouting: &v1alpha1.RolloutTrafficRouting{
			Istio: &v1alpha1.IstioTrafficRouting{VirtualService: &v1alpha1.IstioVirtualService{Name: "web"}}, SessionAffinity: &v1alpha1.SessionAffinity{},
		}}, nil},
		"the Gateway API": {v1alpha1.CanaryStrategy{TrafficRouting: &v1alpha1.RolloutTrafficRouting{
			GatewayAPI:      &v1alpha1.GatewayAPITrafficRouting{HTTPRoute: "web", HTTPRouteSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}},
			SessionAffinity: &v1alpha1.SessionAffinity{},
		}}, nil},
		"routes of the Gateway API without cookies": {
			v1alpha1.CanaryStrategy{TrafficRouting: &v1alpha1.RolloutTrafficRouting{
				GatewayAPI: &v1alpha1.GatewayAPITrafficRouting{
					HTTPRoute: "web", GRPCRoute: "api", TCPRoutes: []v1alpha1.GatewayAPIRoute{{Name: "db"}},
					TLSRouteSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
				},
				SessionAffinity: &v1alpha1.SessionAffinity{},
			}},
			[]string{
				routing + `.sessionAffinity: works with HTTPRoutes only, not with GRPCRoute "api": remove sessionAffinity, or ` + routing + ".gatewayAPI.grpcRoute",
				routing + `.sessionAffinity: works with HTTPRoutes only, not with TCPRoute "db": remove sessionAffinity, or ` + routing + ".gatewayAPI.tcpRoutes[0].name",
				routing + `.sessionAffinity: works with HTTPRoutes only, not with TLSRoutes: remove sessionAffinity, or ` + routing + ".gatewayAPI.tlsRouteSelector",
			},
		},
		"the plugin's settings": {
			v1alpha1.CanaryStrategy{TrafficRouting: &v1alpha1.RolloutTrafficRouting{
				Plugins:         map[string]json.RawMessage{"argoproj-labs/gatewayAPI": json.RawMessage(`{"httpRoute": "web"}`), "acme/router": json.RawMessage("{}")},
				SessionAffinity: &v1alpha1.SessionAffinity{},
			}},
			[]string{routing + ".sessionAffinity: plugin acme/router cannot keep clients on a version: remove sessionAffinity, or use istio or gatewayAPI"},
		},
		"all that is wrong": {
			v1alpha1.CanaryStrategy{
				DynamicStableScale: true,
				Steps:              []v1alpha1.CanaryStep{{SetMirrorRoute: &v1alpha1.SetMirrorRoute{Name: "copy"}}},
				TrafficRouting: &v1alpha1.RolloutTrafficRouting{
					Traefik: &v1alpha1.TraefikTrafficRouting{WeightedTraefikServiceName: "web"}, GatewayAPI: &v1alpha1.GatewayAPITrafficRouting{HTTPRoute: "web"},
					SessionAffinity: &v1alpha1.SessionAffinity{CookieName: "a;b", MaxAgeSeconds: &age},
				},
			},
			[]string{
				routing + `.sessionAffinity.cookieName: "a;b" cannot be the name of a cookie: use letters, digits, dots, dashes, and underscores`,
				routing + ".sessionAffinity.maxAgeSeconds: 0 is out of range: write 1 to 31536000",
				routing + ".sessionAffinity: keeps clients on the stable version, which dynamicStableScale takes the pods from: remove one of the two",
				routing + ".sessionAffinity: traefik cannot keep clients on a version: remove sessionAffinity, or use istio or gatewayAPI",
				"spec.strategy.canary.steps[0].setMirrorRoute: would split the clients that it mirrors again, and sessionAffinity keeps them on a version: remove one of the two",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var p problems
			routers := p.routers(c.canary.TrafficRouting, "shop", "web")
			p.sessionAffinity(routing+".sessionAffinity", &c.canary, routers)
			var got []string
			for _, problem := range p {
				got = append(got, problem.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestIstio(t *testing.T) {
	service := func(namespace, name string) []Router {
		return []Router{Istio{Field: istio, VirtualServices: []IstioVirtualService{{Field: istio + ".virtualService.name", Namespace: namespace, Name: name}}}}
	}
	for name, c := range map[string]struct {
		routing *v1alpha1.RolloutTrafficRouting
		want    []Router
	}{
		"a VirtualService next to the Rollout":      {mesh(oneService("web")), service("shop", "web")},
		"one in another namespace":                  {mesh(oneService("web.edge")), service("edge", "web")},
		"by its name in the cluster":                {mesh(oneService("web.edge.cluster.local")), service("edge", "web")},
		"a name with dots needs the namespace":      {mesh(oneService("web.v1.edge")), service("edge", "web.v1")},
		"the name alone, with the cluster's domain": {mesh(oneService("web.cluster.local")), service("shop", "web")},
		"several, with routes of all protocols and subsets": {
			mesh(v1alpha1.IstioTrafficRouting{
				VirtualServices: []v1alpha1.IstioVirtualService{
					{Name: "web", Routes: []string{"primary"}},
					{Name: "web.edge", TLSRoutes: []v1alpha1.TLSRoute{{Port: 443, SNIHosts: []string{"a"}}}, TCPRoutes: []v1alpha1.TCPRoute{{Port: 3306}}},
				},
				DestinationRule: &v1alpha1.IstioDestinationRule{Name: "web", CanarySubsetName: "canary", StableSubsetName: "stable", AdditionalSubsetNames: []string{"extra"}},
			}),
			[]Router{Istio{
				Field: istio,
				VirtualServices: []IstioVirtualService{
					{Field: istio + ".virtualServices[0].name", Namespace: "shop", Name: "web", Routes: []string{"primary"}},
					{Field: istio + ".virtualServices[1].name", Namespace: "edge", Name: "web", TLSRoutes: []IstioTLSRoute{{Port: 443, SNIHosts: []string{"a"}}}, TCPRoutes: []int64{3306}},
				},
				DestinationRule: IstioDestinationRule{Field: istio + ".destinationRule.name", Name: "web", Canary: "canary", Stable: "stable", Additional: []string{"extra"}},
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var p problems
			if diff := cmp.Diff(c.want, p.routers(c.routing, "shop", "web")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			for _, problem := range p {
				t.Error(problem)
			}
		})
	}
}

func TestProblemsOfIstio(t *testing.T) {
	both := oneService("web")
	both.VirtualServices = []v1alpha1.IstioVirtualService{{Name: "api"}}
	ruled := oneService("web")
	ruled.DestinationRule = &v1alpha1.IstioDestinationRule{Name: "Web", CanarySubsetName: "a", StableSubsetName: "a", AdditionalSubsetNames: []string{"a"}}
	const exactlyOne = istio + ": either VirtualService or VirtualServices must be configured: set exactly one of the two"
	const dns = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`
	for name, c := range map[string]struct {
		routing *v1alpha1.RolloutTrafficRouting
		want    []string
	}{
		"no VirtualService":   {mesh(v1alpha1.IstioTrafficRouting{}), []string{exactlyOne}},
		"one, and a list":     {mesh(both), []string{exactlyOne}},
		"a name that is none": {mesh(oneService("Web")), []string{istio + `.virtualService.name: "Web" cannot be the name of a VirtualService: ` + dns}},
		"the same one twice": {
			mesh(v1alpha1.IstioTrafficRouting{VirtualServices: []v1alpha1.IstioVirtualService{{Name: "web"}, {Name: "web.shop"}}}),
			[]string{istio + `.virtualServices[1].name: "web.shop" is listed already: remove one of the two`},
		},
		"a route that is a managed one": {
			mesh(v1alpha1.IstioTrafficRouting{VirtualService: &v1alpha1.IstioVirtualService{Name: "web", Routes: []string{"beta", ""}}}, "beta"),
			[]string{
				istio + `.virtualService.routes[0]: "beta" is in managedRoutes too, whose routes are removed after the update: rename one of the two`,
				istio + `.virtualService.routes[1]: is empty: name an http route`,
			},
		},
		"subsets that are the same": {
			mesh(ruled),
			[]string{
				istio + `.destinationRule.name: "Web" cannot be the name of a DestinationRule: ` + dns,
				istio + `.destinationRule.additionalSubsetNames: "a" is that of a version too: remove it from the list`,
				istio + `.destinationRule.additionalSubsetNames: "a" is that of a version too: remove it from the list`,
				istio + `.destinationRule.canarySubsetName: "a" is the stableSubsetName too: name another subset`,
			},
		},
		"more VirtualServices than a Rollout may name": {
			mesh(v1alpha1.IstioTrafficRouting{VirtualServices: manyServices(51)}),
			[]string{istio + ".virtualServices: lists 51 VirtualServices, and a Rollout may name 50: leave some of them out"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var p problems
			p.routers(c.routing, "shop", "web")
			var got []string
			for _, problem := range p {
				got = append(got, problem.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func manyServices(n int) []v1alpha1.IstioVirtualService {
	var all []v1alpha1.IstioVirtualService
	for _, name := range manyNames(n) {
		all = append(all, v1alpha1.IstioVirtualService{Name: name})
	}
	return all
}
