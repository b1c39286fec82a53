package sim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// RefuseReleases has the API server refuse with a message to change what is to be released; an empty one ends that.
func (w *World) RefuseReleases(message string) { w.releasesRefused = message }

// Routes are the objects of traffic routers as they are now, not to be modified.
func (w *World) Routes() traffic.Objects { return byKey(w.objects.routes.now) }

func byKey(routes []*unstructured.Unstructured) traffic.Objects {
	all := make(traffic.Objects, len(routes))
	for _, o := range routes {
		all[traffic.KeyOf(o)] = o
	}
	return all
}

// PutRoute adds an object of a traffic router, or puts it in the place of an older one, by hand.
func (w *World) PutRoute(o *unstructured.Unstructured) {
	o = o.DeepCopy()
	if at := &w.objects.routes; at.get(kindOf(o), KeyOf(o)) == nil {
		at.create(w, o)
	} else {
		at.replace(w, o, false)
	}
}

// DeleteRoute deletes the object of that kind and name by hand.
func (w *World) DeleteRoute(kind, name string) {
	w.objects.routes.remove(w, func(o Object) bool { return kindOf(o).Kind == kind && o.GetName() == name })
}

// HTTPRoute is a route of the Gateway API that sends everything to one Service.
func HTTPRoute(name, service string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": name, "namespace": "default"},
		"spec": map[string]any{
			"parentRefs": []any{map[string]any{"name": "gateway"}},
			"rules": []any{map[string]any{
				"matches":     []any{map[string]any{"path": map[string]any{"type": "PathPrefix", "value": "/"}}}, // as the API server fills it in
				"backendRefs": []any{map[string]any{"name": service, "port": int64(80)}},
			}},
		},
	}}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"})
	return o
}

// Ingress sends everything to one Service.
func Ingress(name, service string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": name, "namespace": "default"},
		"spec": map[string]any{
			"ingressClassName": "nginx",
			"rules": []any{map[string]any{"host": "web.example.org", "http": map[string]any{"paths": []any{map[string]any{
				"path": "/", "pathType": "Prefix",
				"backend": map[string]any{"service": map[string]any{"name": service, "port": map[string]any{"number": int64(80)}}},
			}}}}},
		},
	}}
	o.SetGroupVersionKind(networkingv1.SchemeGroupVersion.WithKind("Ingress"))
	return o
}

// SetRouter sets a traffic router by its short name.
func SetRouter(c *v1alpha1.CanaryStrategy, value string) error {
	t := &v1alpha1.RolloutTrafficRouting{}
	switch value {
	case "none":
		c.TrafficRouting = nil
		return nil
	case "gateway":
		t.GatewayAPI = &v1alpha1.GatewayAPITrafficRouting{HTTPRoute: "web"}
	case "labels":
		t.GatewayAPI = &v1alpha1.GatewayAPITrafficRouting{HTTPRouteSelector: &metav1.LabelSelector{MatchLabels: RouteLabels}}
	case "nginx":
		t.Nginx = &v1alpha1.NginxTrafficRouting{StableIngress: "web"}
	case "both":
		t.GatewayAPI = &v1alpha1.GatewayAPITrafficRouting{HTTPRoute: "web"}
		t.Nginx = &v1alpha1.NginxTrafficRouting{StableIngress: "web"}
	default:
		i := slices.IndexFunc(madeRouters, func(r madeRouter) bool { return r.key == value })
		if i < 0 {
			return fmt.Errorf("router %q: write gateway, nginx, both, none, or the key of another router in trafficRouting", value)
		}
		madeRouters[i].set(t)
	}
	c.TrafficRouting = t
	return nil
}

// Route makes a Rollout a routed canary, with the Services web-canary and web-stable and what the router needs.
func (w *World) Route(ro *v1alpha1.Rollout, router string) error {
	c := ro.Spec.Strategy.Canary
	if c == nil {
		return errors.New("a router needs a canary")
	}
	if err := SetRouter(c, router); err != nil {
		return err
	}
	stable := "web-stable"
	if c.PingPong == nil {
		c.CanaryService, c.StableService = "web-canary", stable
	} else {
		stable = c.PingPong.PingService
	}
	for _, service := range []string{"web-stable", "web-canary"} {
		if c.PingPong == nil && w.Service(service) == nil {
			w.CreateService(service)
		}
	}
	if c.TrafficRouting.GatewayAPI != nil {
		route := HTTPRoute("web", stable)
		if router == "labels" {
			route.SetLabels(RouteLabels)
		}
		w.PutRoute(route)
	}
	if c.TrafficRouting.Nginx != nil {
		w.PutRoute(Ingress("web", stable))
	}
	for _, o := range RouterObjects(c.TrafficRouting, stable, "web-canary") {
		w.PutRoute(o)
	}
	return nil
}

// RouteLabels are those by which the router "labels" finds routes.
var RouteLabels = map[string]string{"team": "shop"}

// SortedRoutes are the objects of routers by kind and name.
func (w *World) SortedRoutes() []*unstructured.Unstructured {
	return slices.SortedFunc(slices.Values(w.objects.routes.now), func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetKind(), b.GetKind()), cmp.Compare(a.GetName(), b.GetName()))
	})
}
