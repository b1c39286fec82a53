package spec

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

const (
	routing = "spec.strategy.canary.trafficRouting"
	gateway = routing + ".gatewayAPI"
	nginx   = routing + ".nginx"
	plugin  = routing + `.plugins["argoproj-labs/gatewayAPI"]`
)

func plugins(settings string) *v1alpha1.RolloutTrafficRouting {
	return &v1alpha1.RolloutTrafficRouting{Plugins: map[string]json.RawMessage{v1alpha1.GatewayAPIPluginName: json.RawMessage(settings)}}
}

func native(g v1alpha1.GatewayAPITrafficRouting) *v1alpha1.RolloutTrafficRouting {
	return &v1alpha1.RolloutTrafficRouting{GatewayAPI: &g}
}

func ingress(n v1alpha1.NginxTrafficRouting) *v1alpha1.RolloutTrafficRouting {
	return &v1alpha1.RolloutTrafficRouting{Nginx: &n}
}

func TestRouters(t *testing.T) {
	route := func(field, kind, name string, managed bool) GatewayRoute {
		return GatewayRoute{Field: field, Kind: kind, Name: name, Managed: managed}
	}
	labelled := func(g GatewayAPI) GatewayAPI {
		g.InProgressKey, g.InProgressValue = "rollouts.argoproj.io/gatewayapi-canary", "in-progress"
		return g
	}
	for name, c := range map[string]struct {
		routing *v1alpha1.RolloutTrafficRouting
		want    []Router
	}{
		"one HTTPRoute": {
			native(v1alpha1.GatewayAPITrafficRouting{HTTPRoute: "web"}),
			[]Router{labelled(GatewayAPI{Field: gateway, Namespace: "shop", Routes: []GatewayRoute{route(gateway+".httpRoute", HTTPRoute, "web", true)}})},
		},
		"routes by their labels": {
			native(v1alpha1.GatewayAPITrafficRouting{
				HTTPRouteSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "shop"}}, TCPRouteSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "shop"}},
			}),
			[]Router{labelled(GatewayAPI{Field: gateway, Namespace: "shop", Selectors: []GatewaySelector{
				{Field: gateway + ".httpRouteSelector", Kind: HTTPRoute, Labels: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "shop"}}, Managed: true},
				{Field: gateway + ".tcpRouteSelector", Kind: TCPRoute, Labels: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "shop"}}},
			}})},
		},
		"routes by their labels in the plugin's settings, which take no header routes": {
			plugins(`{"httpRoute": "web", "httpRouteSelector": {"matchLabels": {"team": "shop"}}}`),
			[]Router{labelled(GatewayAPI{Field: plugin, Namespace: "shop", RulesByName: true, Routes: []GatewayRoute{route(plugin+".httpRoute", HTTPRoute, "web", true)}, Selectors: []GatewaySelector{
				{Field: plugin + ".httpRouteSelector", Kind: HTTPRoute, Labels: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "shop"}}},
			}})},
		},
		"routes of all kinds, elsewhere, without a label": {
			native(v1alpha1.GatewayAPITrafficRouting{
				HTTPRoutes: []v1alpha1.GatewayAPIRoute{{Name: "a"}, {Name: "b"}}, GRPCRoute: "g", TCPRoute: "t",
				TLSRoutes: []v1alpha1.GatewayAPIRoute{{Name: "s"}}, Namespace: "edge", DisableInProgressLabel: true,
			}),
			[]Router{GatewayAPI{Field: gateway, Namespace: "edge", Routes: []GatewayRoute{
				route(gateway+".httpRoutes[0].name", HTTPRoute, "a", true),
				route(gateway+".httpRoutes[1].name", HTTPRoute, "b", true),
				route(gateway+".grpcRoute", GRPCRoute, "g", true),
				route(gateway+".tcpRoute", TCPRoute, "t", false),
				route(gateway+".tlsRoutes[0].name", TLSRoute, "s", false),
			}}},
		},
		"header routes where the spec wants them only": {
			native(v1alpha1.GatewayAPITrafficRouting{
				HTTPRoutes: []v1alpha1.GatewayAPIRoute{{Name: "a"}, {Name: "b", UseHeaderRoutes: true}}, GRPCRoute: "g",
				InProgressLabelKey: "busy", InProgressLabelValue: "yes",
			}),
			[]Router{GatewayAPI{Field: gateway, Namespace: "shop", InProgressKey: "busy", InProgressValue: "yes", Routes: []GatewayRoute{
				route(gateway+".httpRoutes[0].name", HTTPRoute, "a", false),
				route(gateway+".httpRoutes[1].name", HTTPRoute, "b", true),
				route(gateway+".grpcRoute", GRPCRoute, "g", false),
			}}},
		},
		"a manifest written for the plugin": {
			plugins(`{"httpRoute": "web", "tcpRoutes": [{"name": "t", "useHeaderRoutes": false}], "namespace": "edge", "configMap": "notes"}`),
			[]Router{labelled(GatewayAPI{Field: plugin, Namespace: "edge", RulesByName: true, ConfigMap: "notes", Routes: []GatewayRoute{
				route(plugin+".httpRoute", HTTPRoute, "web", true),
				route(plugin+".tcpRoutes[0].name", TCPRoute, "t", false),
			}})},
		},
		"the plugin's lists say which routes take headers": {
			plugins(`{"httpRoutes": [{"name": "a"}, {"name": "b", "useHeaderRoutes": true}], "disableInProgressLabel": true, "namespace": ""}`),
			[]Router{GatewayAPI{Field: plugin, Namespace: "shop", RulesByName: true, Routes: []GatewayRoute{
				route(plugin+".httpRoutes[0].name", HTTPRoute, "a", false),
				route(plugin+".httpRoutes[1].name", HTTPRoute, "b", true),
			}}},
		},
		"an Ingress": {
			ingress(v1alpha1.NginxTrafficRouting{StableIngress: "web"}),
			[]Router{Nginx{
				Field: nginx, Prefix: "nginx.ingress.kubernetes.io", Annotations: map[string]string{},
				StableIngresses: []NginxIngress{{Field: nginx + ".stableIngress", Name: "web"}},
			}},
		},
		"Ingresses with annotations, those written whole winning": {
			ingress(v1alpha1.NginxTrafficRouting{
				StableIngresses: []string{"a", "b"}, AnnotationPrefix: "edge.example.com",
				AdditionalIngressAnnotations: map[string]string{"canary-by-header": "X-A", "edge.example.com/canary-by-cookie": "c", "canary": "true"},
				CanaryIngressAnnotations:     map[string]string{"edge.example.com/canary-by-header": "X-B", "example.com/Team": "blue"},
			}),
			[]Router{Nginx{
				Field: nginx, Prefix: "edge.example.com",
				Annotations: map[string]string{
					"edge.example.com/canary-by-header": "X-B", "edge.example.com/canary-by-cookie": "c", "example.com/Team": "blue",
				},
				StableIngresses: []NginxIngress{{Field: nginx + ".stableIngresses[0]", Name: "a"}, {Field: nginx + ".stableIngresses[1]", Name: "b"}},
			}},
		},
		"Ingresses of an ALB": {
			&v1alpha1.RolloutTrafficRouting{ALB: &v1alpha1.ALBTrafficRouting{
				Ingresses: []string{"a", "b"}, ServicePort: 80, RootService: "root", AnnotationPrefix: "edge.example.com",
				StickinessConfig: &v1alpha1.StickinessConfig{Enabled: true, DurationSeconds: 60},
			}},
			[]Router{ALB{
				Field: routing + ".alb", Port: 80, RootService: "root", Prefix: "edge.example.com", StickySeconds: 60,
				Ingresses: []NamedObject{{Field: routing + ".alb.ingresses[0]", Name: "a"}, {Field: routing + ".alb.ingresses[1]", Name: "b"}},
			}},
		},
		"an Ingress of an ALB": {
			&v1alpha1.RolloutTrafficRouting{ALB: &v1alpha1.ALBTrafficRouting{
				Ingress: "a", ServicePort: 443, StickinessConfig: &v1alpha1.StickinessConfig{DurationSeconds: 60},
			}},
			[]Router{ALB{
				Field: routing + ".alb", Port: 443, Prefix: "alb.ingress.kubernetes.io", Ingresses: []NamedObject{{Field: routing + ".alb.ingress", Name: "a"}},
			}},
		},
		"an ApisixRoute": {
			&v1alpha1.RolloutTrafficRouting{
				Apisix: &v1alpha1.ApisixTrafficRouting{Route: &v1alpha1.ApisixRoute{Name: "web", Rules: []string{"a"}}}, ManagedRoutes: []v1alpha1.ManagedRoute{{Name: "beta"}},
			},
			[]Router{Apisix{Field: routing + ".apisix", RouteField: routing + ".apisix.route.name", Route: "web", Rules: []string{"a"}, Managed: []string{"beta"}}},
		},
		"a TrafficSplit": {
			&v1alpha1.RolloutTrafficRouting{SMI: &v1alpha1.SMITrafficRouting{RootService: "web", TrafficSplitName: "split"}},
			[]Router{SMI{Field: routing + ".smi", NameField: routing + ".smi.trafficSplitName", RootService: "web", Split: "split"}},
		},
		"Mappings": {
			&v1alpha1.RolloutTrafficRouting{Ambassador: &v1alpha1.AmbassadorTrafficRouting{Mappings: []string{"web"}}},
			[]Router{Ambassador{Field: routing + ".ambassador", Mappings: []NamedObject{{Field: routing + ".ambassador.mappings[0]", Name: "web"}}}},
		},
		"a TraefikService": {
			&v1alpha1.RolloutTrafficRouting{Traefik: &v1alpha1.TraefikTrafficRouting{WeightedTraefikServiceName: "web"}},
			[]Router{Traefik{Field: routing + ".traefik", ServiceField: routing + ".traefik.weightedTraefikServiceName", Service: "web"}},
		},
		"a TraefikService with mirrors": {
			&v1alpha1.RolloutTrafficRouting{Traefik: &v1alpha1.TraefikTrafficRouting{WeightedTraefikServiceName: "web", MirroringTraefikServiceName: "copies"}},
			[]Router{Traefik{
				Field: routing + ".traefik", ServiceField: routing + ".traefik.weightedTraefikServiceName", Service: "web",
				MirroringField: routing + ".traefik.mirroringTraefikServiceName", Mirroring: "copies",
			}},
		},
		"both, of a thousand": {
			&v1alpha1.RolloutTrafficRouting{
				Nginx:            &v1alpha1.NginxTrafficRouting{StableIngress: "web"},
				Plugins:          plugins(`{"httpRoute": "web"}`).Plugins,
				MaxTrafficWeight: number(1000),
			},
			[]Router{
				Nginx{
					Field: nginx, Prefix: "nginx.ingress.kubernetes.io", Annotations: map[string]string{}, MaxWeight: 1000,
					StableIngresses: []NginxIngress{{Field: nginx + ".stableIngress", Name: "web"}},
				},
				labelled(GatewayAPI{Field: plugin, Namespace: "shop", RulesByName: true, Routes: []GatewayRoute{route(plugin+".httpRoute", HTTPRoute, "web", true)}}),
			},
		},
		"none": {&v1alpha1.RolloutTrafficRouting{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var p problems
			got := p.routers(c.routing, "shop", "web")
			for i, r := range got {
				if g, ok := r.(GatewayAPI); ok && g.RulesByName && len(p) == 0 {
					if want := (Plugin{Field: g.Field, Name: v1alpha1.GatewayAPIPluginName, Config: c.routing.Plugins[v1alpha1.GatewayAPIPluginName]}); !cmp.Equal(want, g.Plugin) {
						t.Errorf("its binary would be asked for %v, want %v", g.Plugin, want)
					}
					g.Plugin = Plugin{}
					got[i] = g
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			for _, problem := range p {
				t.Error(problem)
			}
		})
	}
}

// subdomain is what the API machinery says of names.
const subdomain = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`

func TestProblemsOfRouters(t *testing.T) {
	long := strings.Repeat("a", 246)
	for name, c := range map[string]struct {
		routing *v1alpha1.RolloutTrafficRouting
		want    []string
	}{
		"a router that has ended": {
			&v1alpha1.RolloutTrafficRouting{AppMesh: &v1alpha1.AppMeshTrafficRouting{}},
			[]string{routing + ".appMesh: AWS App Mesh ended on 30 September 2026: remove it, and use gatewayAPI, for instance with Amazon VPC Lattice, or istio"},
		},
		"an ALB with nothing right": {
			&v1alpha1.RolloutTrafficRouting{ALB: &v1alpha1.ALBTrafficRouting{
				AnnotationPrefix: "a/b", RootService: "Root", StickinessConfig: &v1alpha1.StickinessConfig{Enabled: true, DurationSeconds: 604801},
			}},
			[]string{
				routing + `.alb.annotationPrefix: "a/b" cannot be the prefix of annotations: ` + subdomain,
				routing + ".alb.servicePort: 0 is not a port: write 1 to 65535",
				routing + `.alb.rootService: "Root" cannot be the name of an action of the load balancer: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
				routing + ".alb.stickinessConfig.durationSeconds: 604801: TargetGroupStickinessConfig's duration must be between 1 and 604800 seconds (7 days)!",
				routing + ".alb: Either Ingress or Ingresses must be configured. Neither are configured. Set one of them",
			},
		},
		"an Ambassador with no Mapping": {
			&v1alpha1.RolloutTrafficRouting{Ambassador: &v1alpha1.AmbassadorTrafficRouting{}},
			[]string{routing + ".ambassador.mappings: must provide at least one mapping: name the Mappings that route to stableService"},
		},
		"Mappings that share a canary Mapping": {
			&v1alpha1.RolloutTrafficRouting{Ambassador: &v1alpha1.AmbassadorTrafficRouting{Mappings: []string{long + "a", long + "b", "web", "web-canary"}}},
			[]string{
				routing + `.ambassador.mappings[1]: the canary Mapping of "` + long + `b" has the name "` + long + `-canary", which another one has too: rename one of the Mappings`,
				routing + `.ambassador.mappings[2]: the canary Mapping of "web" has the name "web-canary", which another one has too: rename one of the Mappings`,
			},
		},
		"a TrafficSplit of a name that none can have": {
			&v1alpha1.RolloutTrafficRouting{SMI: &v1alpha1.SMITrafficRouting{RootService: "-", TrafficSplitName: "a-"}},
			[]string{
				routing + `.smi.trafficSplitName: "a-" cannot be the name of a TrafficSplit: ` + subdomain,
				routing + `.smi.rootService: "-" cannot be the name of a Service: ` + subdomain,
			},
		},
		"an ApisixRoute that is not named": {
			&v1alpha1.RolloutTrafficRouting{Apisix: &v1alpha1.ApisixTrafficRouting{}},
			[]string{routing + ".apisix.route: is required: name the ApisixRoute whose rules split the traffic"},
		},
		"an ApisixRoute that is a managed route too": {
			&v1alpha1.RolloutTrafficRouting{
				Apisix: &v1alpha1.ApisixTrafficRouting{Route: &v1alpha1.ApisixRoute{Name: "web", Rules: []string{"a", "a"}}}, ManagedRoutes: []v1alpha1.ManagedRoute{{Name: "web"}},
			},
			[]string{
				routing + `.apisix.route.rules[1]: "a" is listed already: remove one of the two`,
				routing + `.managedRoutes[0].name: "web" is the ApisixRoute of ` + routing + ".apisix too: choose another name for the managed route",
			},
		},
		"an ALB with both": {
			&v1alpha1.RolloutTrafficRouting{ALB: &v1alpha1.ALBTrafficRouting{Ingress: "a", Ingresses: []string{"b", "b"}, ServicePort: 80}},
			[]string{
				routing + `.alb: Either Ingress or Ingresses must be configured. Both are configured. Move "a" into the list`,
				routing + `.alb.ingresses[1]: "b" is listed already: remove one of the two`,
			},
		},
		"no TraefikService": {
			&v1alpha1.RolloutTrafficRouting{Traefik: &v1alpha1.TraefikTrafficRouting{}},
			[]string{routing + ".traefik.weightedTraefikServiceName: is empty: name the TraefikService"},
		},
		"one TraefikService for both": {
			&v1alpha1.RolloutTrafficRouting{Traefik: &v1alpha1.TraefikTrafficRouting{WeightedTraefikServiceName: "web", MirroringTraefikServiceName: "web"}},
			[]string{routing + `.traefik.mirroringTraefikServiceName: name another TraefikService than weightedTraefikServiceName: one with spec.mirroring, which sends to the weighted one: "web" is both`},
		},
		"the same router twice": {
			&v1alpha1.RolloutTrafficRouting{GatewayAPI: &v1alpha1.GatewayAPITrafficRouting{HTTPRoute: "web"}, Plugins: plugins(`{"httpRoute": "web"}`).Plugins},
			[]string{plugin + ": is the same router as " + gateway + ", which is set too: keep one of the two"},
		},
		"no route": {
			native(v1alpha1.GatewayAPITrafficRouting{}),
			[]string{gateway + ": name at least one route: httpRoute, grpcRoute, tcpRoute or tlsRoute, a list of several such as httpRoutes, or a selector such as httpRouteSelector"},
		},
		"one and many": {
			plugins(`{"httpRoute": "web", "httpRoutes": [{"name": "a"}]}`),
			[]string{plugin + `.httpRoutes: set only one of httpRoute and httpRoutes: move "web" into the list`},
		},
		"routes that cannot be": {
			native(v1alpha1.GatewayAPITrafficRouting{
				HTTPRoutes: []v1alpha1.GatewayAPIRoute{{Name: "a"}, {Name: "a"}, {}}, TCPRoutes: []v1alpha1.GatewayAPIRoute{{Name: "t", UseHeaderRoutes: true}},
				GRPCRoute: "G!", Namespace: "no.dots", ConfigMap: "-",
			}),
			[]string{
				gateway + `.namespace: "no.dots" cannot be the name of a namespace: must not contain dots`,
				gateway + `.configMap: "-" cannot be the name of a ConfigMap: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
				gateway + `.httpRoutes[1].name: "a" is listed already: remove one of the two`,
				gateway + `.tcpRoutes[0].useHeaderRoutes: a TCPRoute knows no headers: remove it`,
				gateway + `.httpRoutes[2].name: is empty: name the HTTPRoute`,
				gateway + `.grpcRoute: "G!" cannot be the name of a GRPCRoute: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
			},
		},
		"labels that cannot be": {
			native(v1alpha1.GatewayAPITrafficRouting{HTTPRoute: "web", InProgressLabelKey: "a b", InProgressLabelValue: "c d"}),
			[]string{
				gateway + `.inProgressLabelKey: "a b" cannot be the key of a label: name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
				gateway + `.inProgressLabelValue: "c d" cannot be the value of a label: a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
			},
		},
		"labels of other tools": {
			native(v1alpha1.GatewayAPITrafficRouting{HTTPRoute: "web", InProgressLabelKey: "app.kubernetes.io/instance"}),
			[]string{gateway + `.inProgressLabelKey: "app.kubernetes.io/instance" is a key of kubernetes.io, to which other tools give a meaning: choose one of your own, or leave it out for rollouts.argoproj.io/gatewayapi-canary`},
		},
		"settings of the plugin that there are not": {
			plugins(`{"httpRuote": "web", "httpRoutes": [{"name": "a", "useHeaderRoute": true}], "xyz": 1, "tlsRouteSelecter": {}}`),
			[]string{
				plugin + ".httpRoutes[0].useHeaderRoute: there is no such setting: did you mean useHeaderRoutes?",
				plugin + ".httpRuote: there is no such setting: did you mean httpRoute?",
				plugin + ".tlsRouteSelecter: there is no such setting: did you mean tlsRouteSelector?",
				plugin + ".xyz: there is no such setting: remove it; there are httpRoute, httpRoutes, httpRouteSelector, grpcRoute, grpcRoutes, grpcRouteSelector, tcpRoute, tcpRoutes, tcpRouteSelector, tlsRoute, tlsRoutes, tlsRouteSelector, namespace, configMap, disableInProgressLabel, inProgressLabelKey, inProgressLabelValue",
			},
		},
		"selectors that select everything, too much, nothing valid, or elsewhere": {
			native(v1alpha1.GatewayAPITrafficRouting{
				HTTPRouteSelector: &metav1.LabelSelector{},
				GRPCRouteSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: metav1.LabelSelectorOpIn, Values: make([]string, 21)}}},
				TCPRouteSelector:  &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: "Near"}}},
			}),
			[]string{
				gateway + ".httpRouteSelector: is empty, and would select every HTTPRoute of the namespace: write labels in matchLabels or matchExpressions",
				gateway + ".grpcRouteSelector: has 21 labels or values, and may have 20: leave some of them out",
				gateway + `.tcpRouteSelector: is invalid: "Near" is not a valid label selector operator`,
			},
		},
		"a selector for another namespace": {
			native(v1alpha1.GatewayAPITrafficRouting{Namespace: "edge", TLSRouteSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "shop"}}}),
			[]string{gateway + ".tlsRouteSelector: selects in the namespace of the Rollout only, and namespace is another one: list the TLSRoutes by name, or leave namespace out"},
		},
		"a selector that is a text": {
			plugins(`{"httpRouteSelector": "team=shop"}`),
			[]string{plugin + ".httpRouteSelector: is a JSON string: write labels in matchLabels or matchExpressions"},
		},
		"settings of the plugin in another form": {
			plugins(`{"httpRoutes": "web"}`),
			[]string{plugin + ".httpRoutes: is a JSON string: write a list, each entry with a name"},
		},
		"a name that is a number": {
			plugins(`{"httpRoute": 7}`),
			[]string{plugin + ".httpRoute: is a JSON number: write a text"},
		},
		"routes by their bare names": {
			plugins(`{"httpRoutes": ["web"]}`),
			[]string{plugin + ".httpRoutes: is a JSON string: write an object with a name"},
		},
		"settings that are no object": {
			plugins(`["web"]`),
			[]string{plugin + ": is a JSON array: write the settings of the router, such as httpRoute"},
		},
		"more routes than a Rollout may name": {
			native(v1alpha1.GatewayAPITrafficRouting{HTTPRoutes: manyRoutes(51)}),
			[]string{gateway + ".httpRoutes: lists 51 routes, and a Rollout may name 50: leave some of them out"},
		},
		"more Ingresses than a Rollout may name": {
			ingress(v1alpha1.NginxTrafficRouting{StableIngresses: manyNames(51)}),
			[]string{nginx + ".stableIngresses: lists 51 Ingresses, and a Rollout may name 50: leave some of them out"},
		},
		"no Ingress": {
			ingress(v1alpha1.NginxTrafficRouting{}),
			[]string{nginx + ".stableIngress: is empty: name the Ingress that routes to stableService"},
		},
		"an Ingress too many": {
			ingress(v1alpha1.NginxTrafficRouting{StableIngress: "web", StableIngresses: []string{"a", "a", ""}}),
			[]string{
				nginx + `.stableIngresses: set only one of stableIngress and stableIngresses: move "web" into the list`,
				nginx + `.stableIngresses[1]: "a" is listed already: remove one of the two`,
				nginx + ".stableIngresses[2]: is empty: name the Ingress",
			},
		},
		"annotations that are the controller's": {
			ingress(v1alpha1.NginxTrafficRouting{
				StableIngress:                "web",
				AdditionalIngressAnnotations: map[string]string{"canary": "false", "canary-weight": "7", "a b": "c"},
				CanaryIngressAnnotations:     map[string]string{"nginx.ingress.kubernetes.io/canary-weight-total": "1000"},
			}),
			[]string{
				nginx + `.additionalIngressAnnotations: "nginx.ingress.kubernetes.io/a b" cannot be the key of an annotation: name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
				nginx + `.additionalIngressAnnotations: "nginx.ingress.kubernetes.io/canary" is what the controller sets itself: remove it`,
				nginx + `.additionalIngressAnnotations: "nginx.ingress.kubernetes.io/canary-weight" is what the controller sets itself: remove it`,
				nginx + `.canaryIngressAnnotations: "nginx.ingress.kubernetes.io/canary-weight-total" is what the controller sets itself: remove it, and set trafficRouting.maxTrafficWeight`,
			},
		},
		"a prefix that is none": {
			ingress(v1alpha1.NginxTrafficRouting{StableIngress: "web", AnnotationPrefix: "nginx/"}),
			[]string{nginx + `.annotationPrefix: "nginx/" cannot be the prefix of annotations: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
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

func manyNames(n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("web-%d", i))
	}
	return names
}

func manyRoutes(n int) []v1alpha1.GatewayAPIRoute {
	var routes []v1alpha1.GatewayAPIRoute
	for _, name := range manyNames(n) {
		routes = append(routes, v1alpha1.GatewayAPIRoute{Name: name})
	}
	return routes
}

// What a custom router says about itself is held against its kinds, paths and expressions before anything is read.
func TestCustomProblems(t *testing.T) {
	good := func() v1alpha1.CustomTrafficRouting {
		return v1alpha1.CustomTrafficRouting{
			APIVersion: "projectcontour.io/v1", Kind: "HTTPProxy", Name: "web",
			Weights:      []v1alpha1.CustomWeights{{Destinations: "spec.routes[*].services", Service: "entry.name"}},
			HeaderRoutes: &v1alpha1.CustomHeaderRoutes{Rules: "spec.routes", Rule: "{'when': header.regex}"},
			Fields:       []v1alpha1.CustomField{{Path: "spec.hash", Value: "canary.hash"}},
		}
	}
	for name, c := range map[string]struct {
		change func(*v1alpha1.CustomTrafficRouting)
		want   string
	}{
		"all is well":            {func(*v1alpha1.CustomTrafficRouting) {}, ""},
		"no version":             {func(c *v1alpha1.CustomTrafficRouting) { c.APIVersion = "a/b/c" }, `custom[0].apiVersion: "a/b/c" is not GROUP/VERSION`},
		"a kind of Kubernetes":   {func(c *v1alpha1.CustomTrafficRouting) { c.APIVersion, c.Kind = "v1", "Secret" }, `custom[0].apiVersion: "v1" is an API of Kubernetes or of this controller`},
		"another one":            {func(c *v1alpha1.CustomTrafficRouting) { c.APIVersion, c.Kind = "rbac.authorization.k8s.io/v1", "Role" }, "is an API of Kubernetes"},
		"one of this controller": {func(c *v1alpha1.CustomTrafficRouting) { c.APIVersion, c.Kind = "argoproj.io/v1alpha1", "Rollout" }, "is an API of Kubernetes or of this controller"},
		"one of the Gateway API": {func(c *v1alpha1.CustomTrafficRouting) { c.APIVersion = "gateway.networking.k8s.io/v1" }, "custom[0].kind: HTTPProxy is a kind of the Gateway API: use trafficRouting.gatewayAPI"},
		"one of another router": {func(c *v1alpha1.CustomTrafficRouting) {
			c.APIVersion, c.Kind = "networking.istio.io/v1", "VirtualService"
		}, "custom[0].kind: VirtualService.networking.istio.io has a router of its own: use trafficRouting.istio"},
		"no kind":                  {func(c *v1alpha1.CustomTrafficRouting) { c.Kind = "httpproxies" }, `custom[0].kind: "httpproxies" cannot be a kind`},
		"no name":                  {func(c *v1alpha1.CustomTrafficRouting) { c.Name = "" }, "custom[0].name: is empty: name the HTTPProxy"},
		"no namespace":             {func(c *v1alpha1.CustomTrafficRouting) { c.Namespace = "A" }, `custom[0].namespace: "A" cannot be the name of a namespace`},
		"no weights":               {func(c *v1alpha1.CustomTrafficRouting) { c.Weights, c.HeaderRoutes = nil, nil }, "custom[0].weights: is empty"},
		"two ways to have weights": {func(c *v1alpha1.CustomTrafficRouting) { c.Weights[0].CanaryWeight = "spec.x" }, "custom[0].weights[0]: set exactly one of destinations"},
		"weights in a list of their own": {func(c *v1alpha1.CustomTrafficRouting) {
			c.Weights = append(c.Weights, v1alpha1.CustomWeights{CanaryWeight: "spec.a[*].b"})
		}, `custom[0].weights[1]: "spec.a[*].b" leads through a list`},
		"a stable weight alone": {func(c *v1alpha1.CustomTrafficRouting) { c.Weights[0].StableWeight = "spec.x" }, "custom[0].weights[0].stableWeight: belongs to canaryWeight"},
		"a service of no list": {func(c *v1alpha1.CustomTrafficRouting) {
			c.Weights = append(c.Weights, v1alpha1.CustomWeights{CanaryWeight: "spec.a", Service: "entry"})
		}, "custom[0].weights[1]: service and weight belong to destinations"},
		"many weights of a destination": {func(c *v1alpha1.CustomTrafficRouting) { c.Weights[0].Weight = "a[*].b" }, `custom[0].weights[0].weight: "a[*].b" leads through a list`},
		"no path":                       {func(c *v1alpha1.CustomTrafficRouting) { c.Weights[0].Destinations = "spec.routes[0].services" }, `custom[0].weights[0].destinations: "spec.routes[0].services" is not a path`},
		"a path outside of spec":        {func(c *v1alpha1.CustomTrafficRouting) { c.Fields[0].Path = "metadata.labels.x" }, `custom[0].fields[0].path: "metadata.labels.x" does not lead to a field below spec`},
		"all of spec":                   {func(c *v1alpha1.CustomTrafficRouting) { c.Fields[0].Path = "spec" }, `custom[0].fields[0].path: "spec" does not lead to a field below spec`},
		"no expression":                 {func(c *v1alpha1.CustomTrafficRouting) { c.Weights[0].Service = "entry.name +" }, `custom[0].weights[0].service: "entry.name +" is not a CEL expression that can be used here`},
		"a variable of another one":     {func(c *v1alpha1.CustomTrafficRouting) { c.Fields[0].Value = "header.name" }, "undeclared reference to 'header'"},
		"rules without destinations":    {func(c *v1alpha1.CustomTrafficRouting) { c.HeaderRoutes.Rules = "spec.others" }, `custom[0].headerRoutes.rules: "spec.others" is not on the way to any destinations`},
	} {
		t.Run(name, func(t *testing.T) {
			of := good()
			c.change(&of)
			var p problems
			p.routers(&v1alpha1.RolloutTrafficRouting{Custom: []v1alpha1.CustomTrafficRouting{of}}, "shop", "web")
			switch {
			case c.want == "" && len(p) > 0:
				t.Errorf("problems are %v", p)
			case c.want != "" && (len(p) != 1 || !strings.Contains(p[0].String(), c.want)):
				t.Errorf("problems are %v, want %q", p, c.want)
			}
		})
	}
}
