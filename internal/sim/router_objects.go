package sim

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// madeRouter is a traffic router that is set up by one name.
type madeRouter struct {
	// key in trafficRouting, which is its short name.
	key string
	// set names the object "web" in the spec.
	set func(*v1alpha1.RolloutTrafficRouting)
	// is reports whether the spec has the router.
	is func(*v1alpha1.RolloutTrafficRouting) bool
	// object of the name, as a user writes it; nil if the router creates its own.
	object func(name, stable, canary string) *unstructured.Unstructured
}

var madeRouters = []madeRouter{
	{
		"istio",
		func(t *v1alpha1.RolloutTrafficRouting) {
			t.Istio = &v1alpha1.IstioTrafficRouting{VirtualService: &v1alpha1.IstioVirtualService{Name: "web"}}
		},
		func(t *v1alpha1.RolloutTrafficRouting) bool { return t.Istio != nil },
		VirtualService,
	},
	{
		"traefik",
		func(t *v1alpha1.RolloutTrafficRouting) {
			t.Traefik = &v1alpha1.TraefikTrafficRouting{WeightedTraefikServiceName: "web"}
		},
		func(t *v1alpha1.RolloutTrafficRouting) bool { return t.Traefik != nil },
		TraefikService,
	},
	{
		"alb",
		func(t *v1alpha1.RolloutTrafficRouting) {
			t.ALB = &v1alpha1.ALBTrafficRouting{Ingress: "web", ServicePort: 80}
		},
		func(t *v1alpha1.RolloutTrafficRouting) bool { return t.ALB != nil },
		ALBIngress,
	},
	{
		"apisix",
		func(t *v1alpha1.RolloutTrafficRouting) {
			t.Apisix = &v1alpha1.ApisixTrafficRouting{Route: &v1alpha1.ApisixRoute{Name: "web"}}
		},
		func(t *v1alpha1.RolloutTrafficRouting) bool { return t.Apisix != nil },
		ApisixRoute,
	},
	{
		"smi",
		func(t *v1alpha1.RolloutTrafficRouting) { t.SMI = &v1alpha1.SMITrafficRouting{} },
		func(t *v1alpha1.RolloutTrafficRouting) bool { return t.SMI != nil },
		nil,
	},
	{
		"ambassador",
		func(t *v1alpha1.RolloutTrafficRouting) {
			t.Ambassador = &v1alpha1.AmbassadorTrafficRouting{Mappings: []string{"web"}}
		},
		func(t *v1alpha1.RolloutTrafficRouting) bool { return t.Ambassador != nil },
		Mapping,
	},
	{
		"custom",
		func(t *v1alpha1.RolloutTrafficRouting) {
			t.Custom = []v1alpha1.CustomTrafficRouting{{
				APIVersion: HTTPProxies.GroupVersion().String(), Kind: HTTPProxies.Kind, Name: "web",
				Weights: []v1alpha1.CustomWeights{{Destinations: "spec.routes[*].services", Service: "entry.name"}},
			}}
		},
		func(t *v1alpha1.RolloutTrafficRouting) bool { return len(t.Custom) > 0 },
		HTTPProxy,
	},
}

// HTTPProxies are Contour's, which stand for all kinds of the router that knows none.
var HTTPProxies = schema.GroupVersionKind{Group: "projectcontour.io", Version: "v1", Kind: "HTTPProxy"}

// HTTPProxy splits between two Services.
func HTTPProxy(name, stable, canary string) *unstructured.Unstructured {
	return object(HTTPProxies, name, map[string]any{
		"virtualhost": map[string]any{"fqdn": "web.example.org"},
		"routes": []any{map[string]any{"services": []any{
			map[string]any{"name": stable, "port": int64(80), "weight": int64(100)},
			map[string]any{"name": canary, "port": int64(80), "weight": int64(0)},
		}}},
	})
}

// RouterObjects are the objects that the routers of a canary need, by their kinds.
func RouterObjects(t *v1alpha1.RolloutTrafficRouting, stable, canary string) map[string]*unstructured.Unstructured {
	all := map[string]*unstructured.Unstructured{}
	for _, r := range madeRouters {
		if r.is(t) && r.object != nil {
			o := r.object("web", stable, canary)
			all[o.GetKind()] = o
		}
	}
	return all
}

// VirtualService splits between two Services.
func VirtualService(name, stable, canary string) *unstructured.Unstructured {
	return object(schema.GroupVersionKind{Group: "networking.istio.io", Version: "v1", Kind: "VirtualService"}, name, map[string]any{
		"hosts": []any{"web.example.org"},
		"http": []any{map[string]any{"route": []any{
			map[string]any{"destination": map[string]any{"host": stable}, "weight": int64(100)},
			map[string]any{"destination": map[string]any{"host": canary}, "weight": int64(0)},
		}}},
	})
}

// TraefikService splits between two Services.
func TraefikService(name, stable, canary string) *unstructured.Unstructured {
	return object(schema.GroupVersionKind{Group: "traefik.io", Version: "v1alpha1", Kind: "TraefikService"}, name, map[string]any{
		"weighted": map[string]any{"services": []any{
			map[string]any{"name": stable, "port": int64(80), "weight": int64(100)},
			map[string]any{"name": canary, "port": int64(80), "weight": int64(0)},
		}},
	})
}

// TraefikMirroring copies what it sends to another TraefikService to a Service of its author's.
func TraefikMirroring(name, to string) *unstructured.Unstructured {
	return object(schema.GroupVersionKind{Group: "traefik.io", Version: "v1alpha1", Kind: "TraefikService"}, name, map[string]any{
		"mirroring": map[string]any{
			"kind": "TraefikService", "name": to,
			"mirrors": []any{map[string]any{"name": "audit", "port": int64(80), "percent": int64(100)}},
		},
	})
}

// ApisixRoute splits between two Services.
func ApisixRoute(name, stable, canary string) *unstructured.Unstructured {
	return object(schema.GroupVersionKind{Group: "apisix.apache.org", Version: "v2", Kind: "ApisixRoute"}, name, map[string]any{
		"http": []any{map[string]any{
			"name":  name,
			"match": map[string]any{"paths": []any{"/*"}},
			"backends": []any{
				map[string]any{"serviceName": stable, "servicePort": int64(80), "weight": int64(100)},
				map[string]any{"serviceName": canary, "servicePort": int64(80), "weight": int64(0)},
			},
		}},
	})
}

// Mapping of Ambassador sends everything to one Service.
func Mapping(name, stable, _ string) *unstructured.Unstructured {
	return object(schema.GroupVersionKind{Group: "getambassador.io", Version: "v2", Kind: "Mapping"}, name, map[string]any{
		"prefix": "/", "service": stable + ":80",
	})
}

// TrafficSplit sends everything to one Service, as the controller makes it.
func TrafficSplit(name, stable string) *unstructured.Unstructured {
	return object(schema.GroupVersionKind{Group: "split.smi-spec.io", Version: "v1alpha4", Kind: "TrafficSplit"}, name, map[string]any{
		"service": stable, "backends": []any{map[string]any{"service": stable, "weight": int64(100)}},
	})
}

// SetListed sets up one of the routers whose object lists Services, by a number, and says which.
func SetListed(t *v1alpha1.RolloutTrafficRouting, n int) (key string) {
	last := len(madeRouters) - 1
	others := madeRouters[1:last] // Istio has features of its own
	r := others[n%len(others)]
	if n%11 == 10 { // so that others stay what they were for a number
		r = madeRouters[last]
	}
	r.set(t)
	return r.key
}

// ALBIngress sends everything by the action of a Service.
func ALBIngress(name, stable, _ string) *unstructured.Unstructured {
	o := Ingress(name, stable)
	content := o.Object["spec"].(map[string]any)
	content["ingressClassName"] = "alb"
	path := content["rules"].([]any)[0].(map[string]any)["http"].(map[string]any)["paths"].([]any)[0].(map[string]any)
	path["backend"].(map[string]any)["service"].(map[string]any)["port"] = map[string]any{"name": "use-annotation"}
	return o
}

func object(gvk schema.GroupVersionKind, name string, content map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": name, "namespace": "default"}, "spec": content}}
	o.SetGroupVersionKind(gvk)
	return o
}
