package playtest

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluice-delivery/sluice/internal/traffic/proxy"
)

// Shares is how much of the traffic each Service gets, in percent, as one object of a traffic router has it.
type Shares map[string]int32

// routeKinds are the objects of traffic routers that are followed, as far as the cluster knows them.
func (ns *Namespace) routeKinds() iter.Seq[schema.GroupVersionKind] {
	return func(yield func(schema.GroupVersionKind) bool) {
		for _, gvk := range []schema.GroupVersionKind{
			{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"},
			{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"},
			{Group: "networking.istio.io", Version: "v1", Kind: "VirtualService"},
			{Group: "traefik.io", Version: "v1alpha1", Kind: "TraefikService"},
			{Group: "apisix.apache.org", Version: "v2", Kind: "ApisixRoute"},
			{Group: "split.smi-spec.io", Version: "v1alpha4", Kind: "TrafficSplit"},
			{Group: "getambassador.io", Version: "v2", Kind: "Mapping"},
			{Group: "projectcontour.io", Version: "v1", Kind: "HTTPProxy"},
		} {
			_, err := ns.Client.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
			if err == nil && !yield(gvk) {
				return
			}
		}
	}
}

// sharesOf reads the weights of a route; nil if the object does not split traffic.
func sharesOf(o *unstructured.Unstructured) Shares {
	if weights, ok := proxy.Weights(o); ok {
		return sharesOfList(weights)
	}
	if o.GetKind() == "Ingress" {
		return sharesOfIngress(o)
	}
	rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules")
	rules = slices.DeleteFunc(rules, func(rule any) bool {
		name, _ := rule.(map[string]any)["name"].(string)
		return strings.HasPrefix(name, "sluice.") // the controller's own
	})
	if len(rules) == 0 {
		return nil
	}
	rule, _ := rules[len(rules)-1].(map[string]any)
	shares := Shares{}
	total := int64(0)
	refs, _, _ := unstructured.NestedSlice(rule, "backendRefs")
	weight := func(ref map[string]any) int64 {
		w, there, _ := unstructured.NestedInt64(ref, "weight")
		if !there {
			return 1
		}
		return w
	}
	for _, r := range refs {
		total += weight(r.(map[string]any))
	}
	for _, r := range refs {
		ref := r.(map[string]any)
		if w := weight(ref); total > 0 {
			shares[ref["name"].(string)] = int32(100 * w / total)
		}
	}
	return shares
}

func sharesOfList(weights map[string]int64) Shares {
	total := int64(0)
	for _, weight := range weights {
		total += weight
	}
	shares := Shares{}
	for service, weight := range weights {
		if total > 0 {
			shares[service] = int32(100 * weight / total)
		}
	}
	return shares
}

// sharesOfIngress reads a canary Ingress, whose Services are web-canary and web-stable.
func sharesOfIngress(o *unstructured.Unstructured) Shares {
	weight, err := strconv.Atoi(o.GetAnnotations()["nginx.ingress.kubernetes.io/canary-weight"])
	if err != nil {
		return nil
	}
	return Shares{"web-canary": int32(weight), "web-stable": int32(100 - weight)}
}

// Traffic is the share that each version gets by one route, in percent.
func (p Point) Traffic(route string) map[string]int32 {
	by := map[string]int32{}
	for service, share := range p.Routes[route] {
		by[p.Selected[service]] += share
	}
	return by
}

func (p Point) routesText() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(p.Routes)) {
		var shares []string
		for _, service := range slices.Sorted(maps.Keys(p.Routes[name])) {
			shares = append(shares, fmt.Sprintf("%s %d %%", service, p.Routes[name][service]))
		}
		parts = append(parts, name+" "+strings.Join(shares, " "))
	}
	return strings.Join(parts, ", ")
}

// WaitForNoRoute watches the objects of a kind until there is none of that name.
func (ns *Namespace) WaitForNoRoute(gvk schema.GroupVersionKind, name string) {
	ns.t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	ns.waitForAll(list, gvk.Kind+" "+name+" to go", func() bool {
		return !slices.ContainsFunc(list.Items, func(o unstructured.Unstructured) bool { return o.GetName() == name })
	})
}

// WaitForRoute watches an object of a traffic router until it is as wanted; what says what that is.
func (ns *Namespace) WaitForRoute(gvk schema.GroupVersionKind, name, what string, wanted func(*unstructured.Unstructured) bool) {
	ns.t.Helper()
	ctx, cancel := context.WithTimeout(ns.t.Context(), Patience)
	defer cancel()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err := await(ctx, ns.Client, list, ns.Name, name, wanted); err != nil {
		ns.t.Fatalf("wait for %s %s %s: %v", gvk.Kind, name, what, err)
	}
}
