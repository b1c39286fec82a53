// Package subjects sets up each router with objects that people could have made, to be tried by the suite in conformance.
package subjects

import (
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/internal/manifests"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance"
	"github.com/sluice-delivery/sluice/internal/traffic/gatewayapi"
	"github.com/sluice-delivery/sluice/internal/traffic/istio"
	"github.com/sluice-delivery/sluice/internal/traffic/nginx"
)

const routing = "spec.strategy.canary.trafficRouting"

// Rollout is whose routers they are, in a namespace.
func Rollout(namespace string) traffic.Owner {
	return traffic.Owner{Namespace: namespace, Name: "web", UID: "0a1b2c3d-0000-4000-8000-00000000000e"}
}

// Files with the objects that people made.
var (
	Routes    = filepath.Join(manifests.Root(), "internal/traffic/gatewayapi/testdata/routes.yaml")
	Services  = filepath.Join(manifests.Root(), "internal/traffic/istio/testdata/virtualservices.yaml")
	Ingresses = filepath.Join(manifests.Root(), "internal/traffic/nginx/testdata/ingresses.yaml")

	ALBIngresses    = filepath.Join(manifests.Root(), "internal/traffic/alb/testdata/ingresses.yaml")
	Mappings        = filepath.Join(manifests.Root(), "internal/traffic/ambassador/testdata/mappings.yaml")
	TrafficSplits   = filepath.Join(manifests.Root(), "internal/traffic/smi/testdata/trafficsplits.yaml")
	ApisixRoutes    = filepath.Join(manifests.Root(), "internal/traffic/apisix/testdata/apisixroutes.yaml")
	TraefikServices = filepath.Join(manifests.Root(), "internal/traffic/traefik/testdata/traefikservices.yaml")
)

// InMemory makes worlds in memory with the objects of a file.
func InMemory(file, namespace string) func(testing.TB) conformance.World {
	return func(t testing.TB) conformance.World { return conformance.Memory(conformance.Load(t, file, namespace)) }
}

// GatewayAPI is the router of the Gateway API, with routes of all kinds.
func GatewayAPI(owner traffic.Owner, world func(testing.TB) conformance.World, splits int) conformance.Subject {
	g := spec.GatewayAPI{
		Field: routing + ".gatewayAPI", Namespace: owner.Namespace, InProgressKey: "rollouts.argoproj.io/gatewayapi-canary", InProgressValue: "in-progress",
	}
	for i, route := range []struct {
		kind, name string
		managed    bool
	}{{spec.HTTPRoute, "web", true}, {spec.HTTPRoute, "shared", true}, {spec.GRPCRoute, "web", true}, {spec.TCPRoute, "web", false}, {spec.TLSRoute, "web", false}} {
		g.Routes = append(g.Routes, spec.GatewayRoute{Field: fmt.Sprintf("%s.routes[%d]", g.Field, i), Kind: route.kind, Name: route.name, Managed: route.managed})
	}
	return conformance.Subject{Router: gatewayapi.New(owner, g, spec.Policy{}), World: world, Weights: WeightsOfRoutes, Bare: bareRoute, Splits: splits}
}

// GatewaySessions is the router of the Gateway API, with HTTPRoutes whose clients stay on a version.
func GatewaySessions(owner traffic.Owner, world func(testing.TB) conformance.World, splits int) conformance.Subject {
	g := spec.GatewayAPI{
		Field: routing + ".gatewayAPI", Namespace: owner.Namespace, Sessions: spec.Sessions{Cookie: "sluice-web", MaxAge: 600},
		InProgressKey: "rollouts.argoproj.io/gatewayapi-canary", InProgressValue: "in-progress",
	}
	for i, name := range []string{"web", "shared"} {
		g.Routes = append(g.Routes, spec.GatewayRoute{Field: fmt.Sprintf("%s.httpRoutes[%d].name", g.Field, i), Kind: spec.HTTPRoute, Name: name, Managed: true})
	}
	return conformance.Subject{
		Router: gatewayapi.New(owner, g, spec.Policy{}), World: world, Weights: WeightsOfRoutes, Sessions: SessionsOfRoutes, Bare: bareRoute, Splits: splits,
	}
}

// Nginx is the router of ingress-nginx, with two Ingresses.
func Nginx(owner traffic.Owner, world func(testing.TB) conformance.World, splits int) conformance.Subject {
	n := spec.Nginx{
		Field: routing + ".nginx", Prefix: "nginx.ingress.kubernetes.io",
		StableIngresses: []spec.NginxIngress{{Field: routing + ".nginx.stableIngresses[0]", Name: "web"}, {Field: routing + ".nginx.stableIngresses[1]", Name: "web-legacy"}},
		Annotations:     map[string]string{"nginx.ingress.kubernetes.io/canary-by-header": "X-Canary"},
	}
	same := func(o *unstructured.Unstructured) *unstructured.Unstructured { return o }
	return conformance.Subject{Router: nginx.New(owner, n), World: world, Weights: WeightsOfIngresses, Bare: same, Splits: splits}
}

// Istio is the router of Istio, with VirtualServices whose routes of all protocols tell the versions apart by host.
func Istio(owner traffic.Owner, world func(testing.TB) conformance.World, splits int) conformance.Subject {
	i := spec.Istio{Field: routing + ".istio", VirtualServices: virtualServices(owner, "web", "legacy", "all")}
	i.VirtualServices[1].Routes = []string{"first", "third"}
	i.VirtualServices[2].TLSRoutes = []spec.IstioTLSRoute{{Port: 443, SNIHosts: []string{"web.example.org"}}}
	i.VirtualServices[2].TCPRoutes = []int64{3306}
	return istioSubject(owner, i, world, splits)
}

// IstioSubsets is the router of Istio, with a VirtualService that tells the versions apart by subsets of a DestinationRule.
func IstioSubsets(owner traffic.Owner, world func(testing.TB) conformance.World, splits int) conformance.Subject {
	i := spec.Istio{Field: routing + ".istio", VirtualServices: virtualServices(owner, "subsets")}
	i.DestinationRule = spec.IstioDestinationRule{Field: i.Field + ".destinationRule.name", Name: "web", Canary: "canary", Stable: "stable"}
	subject := istioSubject(owner, i, world, splits)
	subject.Subsets = true
	return subject
}

// IstioSessions is the router of Istio, with a VirtualService whose clients stay on a version.
func IstioSessions(owner traffic.Owner, world func(testing.TB) conformance.World, splits int) conformance.Subject {
	i := spec.Istio{Field: routing + ".istio", VirtualServices: virtualServices(owner, "web", "legacy"), Sessions: spec.Sessions{Cookie: "sluice-web", MaxAge: 600}}
	i.VirtualServices[1].Routes = []string{"first", "third"}
	subject := istioSubject(owner, i, world, splits)
	subject.Sessions = SessionsOfVirtualServices
	return subject
}

func virtualServices(owner traffic.Owner, names ...string) (all []spec.IstioVirtualService) {
	for n, name := range names {
		all = append(all, spec.IstioVirtualService{Field: fmt.Sprintf("%s.istio.virtualServices[%d].name", routing, n), Namespace: owner.Namespace, Name: name})
	}
	return all
}

func istioSubject(owner traffic.Owner, i spec.Istio, world func(testing.TB) conformance.World, splits int) conformance.Subject {
	return conformance.Subject{Router: istio.New(owner, i, spec.Policy{}), World: world, Weights: WeightsOfVirtualServices, Bare: bareService, Splits: splits}
}

// WeightsOfVirtualServices reads the weights of each route that leads to the stable Service, or to the stable subset.
func WeightsOfVirtualServices(objects traffic.Objects) []map[string]int64 {
	var all []map[string]int64
	for _, o := range objects {
		for _, route := range istioRoutes(o) {
			weights := map[string]int64{}
			list, _ := route["route"].([]any)
			for _, entry := range list {
				destination, _ := entry.(map[string]any)["destination"].(map[string]any)
				name, _, _ := strings.Cut(fmt.Sprint(destination["host"]), ".")
				switch destination["subset"] {
				case "stable":
					name = conformance.Stable
				case "canary":
					name = conformance.Canary
				}
				weight, _ := entry.(map[string]any)["weight"].(int64)
				weights[name] += weight
			}
			if _, ok := weights[conformance.Stable]; ok {
				all = append(all, weights)
			}
		}
	}
	return all
}

// istioRoutes are the routes of a VirtualService, of all protocols.
func istioRoutes(o *unstructured.Unstructured) []map[string]any {
	var all []map[string]any
	of, _ := o.Object["spec"].(map[string]any)
	for _, protocol := range []string{"http", "tls", "tcp"} {
		list, _ := of[protocol].([]any)
		for _, entry := range list {
			route := entry.(map[string]any)
			if !sessionRoute(route) { // those are of one version each
				all = append(all, route)
			}
		}
	}
	return all
}

// bareService is a VirtualService without weights.
func bareService(o *unstructured.Unstructured) *unstructured.Unstructured {
	out := o.DeepCopy()
	for _, route := range istioRoutes(out) {
		list, _ := route["route"].([]any)
		for _, entry := range list {
			delete(entry.(map[string]any), "weight")
		}
	}
	return out
}

// WeightsOfRoutes reads the weights of each rule that names the stable Service, other than those of header routes and sessions.
func WeightsOfRoutes(objects traffic.Objects) []map[string]int64 {
	var all []map[string]int64
	for _, o := range objects {
		for _, refs := range backendRefs(o) {
			weights := map[string]int64{}
			for _, ref := range refs {
				if kind, ok := ref["kind"]; ok && kind != "Service" {
					continue
				}
				weight, ok := ref["weight"].(int64)
				if !ok {
					weight = 1
				}
				weights[fmt.Sprint(ref["name"])] += weight
			}
			if _, ok := weights[conformance.Stable]; ok {
				all = append(all, weights)
			}
		}
	}
	return all
}

func backendRefs(o *unstructured.Unstructured) [][]map[string]any {
	rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules") // none is none
	var all [][]map[string]any
	for _, rule := range rules {
		if cookieOfRule(rule) != "" { // of one version each
			continue
		}
		var refs []map[string]any
		list, _ := rule.(map[string]any)["backendRefs"].([]any)
		for _, ref := range list {
			refs = append(refs, ref.(map[string]any))
		}
		all = append(all, refs)
	}
	return all
}

// bareRoute is a route without weights.
func bareRoute(o *unstructured.Unstructured) *unstructured.Unstructured {
	out := o.DeepCopy()
	routeSpec, _ := out.Object["spec"].(map[string]any)
	rules, _ := routeSpec["rules"].([]any)
	for _, rule := range rules {
		list, _ := rule.(map[string]any)["backendRefs"].([]any)
		for _, ref := range list {
			delete(ref.(map[string]any), "weight")
		}
	}
	return out
}

// WeightsOfIngresses reads the weights as ingress-nginx does: a canary Ingress takes its share of each path that it has in common with
// another Ingress of the same class, and that one the rest.
func WeightsOfIngresses(objects traffic.Objects) []map[string]int64 {
	const prefix = "nginx.ingress.kubernetes.io/"
	stable := map[string]string{}
	for _, o := range objects {
		if o.GetAnnotations()[prefix+"canary"] != "true" {
			maps.Copy(stable, paths(o))
		}
	}
	var all []map[string]int64
	for _, o := range objects {
		if o.GetAnnotations()[prefix+"canary"] != "true" {
			continue
		}
		weight := number(o.GetAnnotations()[prefix+"canary-weight"], 0)
		total := number(o.GetAnnotations()[prefix+"canary-weight-total"], 100)
		for path, service := range paths(o) {
			all = append(all, map[string]int64{stable[path]: total - weight, service: weight})
		}
	}
	return all
}

func number(text string, byDefault int64) int64 {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	return byDefault
}

// paths are the Services behind the paths of an Ingress, by all that decides which requests go there.
func paths(o *unstructured.Unstructured) map[string]string {
	class, _, _ := unstructured.NestedString(o.Object, "spec", "ingressClassName") // may be left out
	rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules")             // may be left out
	all := map[string]string{}
	for _, rule := range rules {
		list, _, _ := unstructured.NestedSlice(rule.(map[string]any), "http", "paths") // may be left out
		for _, entry := range list {
			path := entry.(map[string]any)
			service, found, _ := unstructured.NestedString(path, "backend", "service", "name") // may be another resource
			if found {
				key := strings.Join([]string{
					class, o.GetAnnotations()["kubernetes.io/ingress.class"], fmt.Sprint(rule.(map[string]any)["host"]), fmt.Sprint(path["path"], path["pathType"]),
				}, " ")
				all[key] = service
			}
		}
	}
	return all
}
