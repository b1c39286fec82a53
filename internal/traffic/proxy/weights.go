// Package proxy reads objects of traffic routers as proxies do. Tests and the simulator hold the routers against it, so it shares nothing
// with them.
package proxy

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Weights are the weights in the first place of an object that lists Services with weights, as its proxy understands them; false if
// the object is of another form.
func Weights(o *unstructured.Unstructured) (map[string]int64, bool) {
	switch o.GetKind() {
	case "TraefikService":
		_, splits, _ := unstructured.NestedMap(o.Object, "spec", "weighted") // one that mirrors does not
		return weightsOfList("name", o.Object, "spec", "weighted", "services"), splits
	case "Ingress":
		return weightsOfActions(o)
	case "HTTPProxy":
		return weightsOfList("name", lastOf(o.Object, "spec", "routes"), "services"), true
	case "RouteTable":
		return weightsOfRouteTable(o), true
	case "MeshHTTPRoute":
		return weightsOfMeshRoute(o), true
	case "RouteGroup":
		return weightsOfRouteGroup(o), true
	case "VirtualService":
		return weightsOfService(o), true
	case "ApisixRoute":
		return weightsOfRoute(o)
	case "TrafficSplit":
		return weightsOfSplit(o), true
	case "Mapping":
		return weightsOfMapping(o)
	}
	return nil, false
}

// weightsOfSplit are those of the backends, in the form of any version.
func weightsOfSplit(o *unstructured.Unstructured) map[string]int64 {
	weights := map[string]int64{}
	backends, _, _ := unstructured.NestedSlice(o.Object, "spec", "backends") // none is none
	for _, value := range backends {
		backend, _ := value.(map[string]any)
		weight, err := strconv.ParseInt(fmt.Sprint(backend["weight"]), 10, 64)
		if err == nil {
			weights[fmt.Sprint(backend["service"])] += weight
		}
	}
	return weights
}

// weightsOfMapping are those of a canary Mapping and of the one without a weight that it was copied from, whose Service it notes in none of
// its fields: it is called like the canary's with another ending.
func weightsOfMapping(o *unstructured.Unstructured) (map[string]int64, bool) {
	weight, found, _ := unstructured.NestedInt64(o.Object, "spec", "weight") // another form is none
	if !found {
		return nil, false
	}
	address, _, _ := unstructured.NestedString(o.Object, "spec", "service")
	if _, after, found := strings.Cut(address, "://"); found {
		address = after
	}
	canary, _, _ := strings.Cut(strings.Split(address, ":")[0], ".")
	stable := strings.TrimSuffix(canary, "-canary") + "-stable"
	return map[string]int64{canary: weight, stable: 100 - weight}, true
}

// weightsOfRoute reads the rule of an ApisixRoute that is called as this is; a header route has none.
func weightsOfRoute(o *unstructured.Unstructured) (map[string]int64, bool) {
	rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "http") // none is none
	for _, value := range rules {
		if rule, ok := value.(map[string]any); ok && rule["name"] == o.GetName() {
			return weightsOfList("serviceName", rule, "backends"), true
		}
	}
	return nil, false
}

// weightsOfActions reads the action of an AWS load balancer that a path refers to and that has no conditions of header routes.
func weightsOfActions(o *unstructured.Unstructured) (map[string]int64, bool) {
	rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules") // none is none
	for _, rule := range rules {
		paths, _, _ := unstructured.NestedSlice(rule.(map[string]any), "http", "paths")
		for _, path := range paths {
			name, _, _ := unstructured.NestedString(path.(map[string]any), "backend", "service", "name")
			port, _, _ := unstructured.NestedString(path.(map[string]any), "backend", "service", "port", "name")
			annotations := o.GetAnnotations()
			if port != "use-annotation" || strings.Contains(annotations[albPrefix+"conditions."+name], "http-header") {
				continue
			}
			var action struct {
				ForwardConfig struct {
					TargetGroups []struct {
						ServiceName string
						Weight      int64
					}
				}
			}
			if json.Unmarshal([]byte(annotations[albPrefix+"actions."+name]), &action) != nil || len(action.ForwardConfig.TargetGroups) == 0 {
				continue
			}
			weights := map[string]int64{}
			for _, group := range action.ForwardConfig.TargetGroups {
				weights[group.ServiceName] += group.Weight
			}
			return weights, true
		}
	}
	return nil, false
}

const albPrefix = "alb.ingress.kubernetes.io/"

// weightsOfService are those of the last http route, behind managed routes. A destination that has no weight has none of the traffic.
func weightsOfService(o *unstructured.Unstructured) map[string]int64 {
	weights := map[string]int64{}
	routes, _, _ := unstructured.NestedSlice(o.Object, "spec", "http") // none is none
	if len(routes) == 0 {
		return weights
	}
	last, _ := routes[len(routes)-1].(map[string]any)
	list, _ := last["route"].([]any)
	for _, value := range list {
		entry, _ := value.(map[string]any)
		destination, _ := entry["destination"].(map[string]any)
		host, _ := destination["host"].(string)
		name, _, _ := strings.Cut(host, ".")
		weight, _ := entry["weight"].(int64)
		weights[name] += weight
	}
	return weights
}

// weightsOfList sums the weights of the Services in a list. Where none is written it is 1.
func weightsOfList(key string, in map[string]any, path ...string) map[string]int64 {
	list, _, _ := unstructured.NestedSlice(in, path...) // none is none
	weights := map[string]int64{}
	for _, value := range list {
		entry, _ := value.(map[string]any)
		if kind, typed := entry["kind"]; typed && kind != "Service" {
			continue
		}
		weight, written := entry["weight"].(int64)
		if !written {
			weight = 1
		}
		weights[fmt.Sprint(entry[key])] += weight
	}
	return weights
}
