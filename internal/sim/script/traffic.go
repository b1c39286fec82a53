package script

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/traffic/proxy"
)

// deleteRoute is the verb "delete route HTTPRoute", restoreRoute "route HTTPRoute".
func (s *Script) restoreRoute(args []string) (string, error) {
	switch last(args) {
	case "HTTPRoute":
		s.World.PutRoute(sim.HTTPRoute("web", "web-stable"))
	case "Ingress":
		s.World.PutRoute(sim.Ingress("web", "web-stable"))
	case "labelled", "unlabelled":
		s.relabelRoute(last(args) == "labelled")
	case "trap": // someone else's route with a forged note
		trap := sim.HTTPRoute("trap", "elsewhere")
		trap.SetAnnotations(map[string]string{v1alpha1.GatewayAPINotesAnnotation: `{"default/web": {"label": "x"}}`})
		s.World.PutRoute(trap)
	default:
		return "", fmt.Errorf("route %q: write HTTPRoute or Ingress", last(args))
	}
	return "", nil
}

// relabelRoute gives a second route, or takes from it, the labels by which it is found.
func (s *Script) relabelRoute(found bool) {
	second := sim.HTTPRoute("second", "web-stable")
	for key, o := range s.World.Routes() {
		if key.Name == "second" {
			second = o.DeepCopy()
		}
	}
	labels := second.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	for key, value := range sim.RouteLabels {
		if delete(labels, key); found {
			labels[key] = value
		}
	}
	second.SetLabels(labels)
	s.World.PutRoute(second)
}

// weightsText is the weights as the status has them.
func weightsText(w *v1alpha1.TrafficWeights) string {
	var parts []string
	for _, d := range append([]v1alpha1.WeightDestination{w.Canary, w.Stable}, w.Additional...) {
		parts = append(parts, fmt.Sprintf("%s (%s) %d", d.ServiceName, d.PodTemplateHash, d.Weight))
	}
	return strings.Join(parts, ", ")
}

// routeText is the weights as a router's object has them, and its managed rules.
func routeText(o *unstructured.Unstructured) string {
	if weights, ok := proxy.Weights(o); ok {
		var parts []string
		for _, service := range slices.Sorted(maps.Keys(weights)) {
			parts = append(parts, fmt.Sprintf("%s %d", service, weights[service]))
		}
		return strings.Join(parts, " + ")
	}
	if o.GetKind() == "Ingress" {
		return "canary-weight " + o.GetAnnotations()["nginx.ingress.kubernetes.io/canary-weight"]
	}
	rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules")
	var parts []string
	for _, r := range rules {
		rule, _ := r.(map[string]any)
		var refs []string
		backends, _, _ := unstructured.NestedSlice(rule, "backendRefs")
		for _, b := range backends {
			ref, _ := b.(map[string]any)
			text := fmt.Sprint(ref["name"])
			if weight, ok := ref["weight"]; ok {
				text += fmt.Sprintf(" %d", weight)
			}
			refs = append(refs, text)
		}
		text := strings.Join(refs, " + ")
		if name, ok := rule["name"]; ok {
			text = fmt.Sprintf("%s: %s", name, text)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}
