package proxy

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// lastOf is the last entry of a list: rules of header routes come before it.
func lastOf(in map[string]any, path ...string) map[string]any {
	list, _, _ := unstructured.NestedSlice(in, path...) // none is none
	if len(list) == 0 {
		return nil
	}
	last, _ := list[len(list)-1].(map[string]any)
	return last
}

func entries(in map[string]any, path ...string) (all []map[string]any) {
	list, _, _ := unstructured.NestedSlice(in, path...) // none is none
	for _, value := range list {
		if entry, ok := value.(map[string]any); ok {
			all = append(all, entry)
		}
	}
	return all
}

// weightsOfRouteTable are those of the last route of Gloo's RouteTable.
func weightsOfRouteTable(o *unstructured.Unstructured) map[string]int64 {
	weights := map[string]int64{}
	for _, entry := range entries(lastOf(o.Object, "spec", "routes"), "routeAction", "multi", "destinations") {
		name, _, _ := unstructured.NestedString(entry, "destination", "kube", "ref", "name") // may be an upstream
		weight, _ := entry["weight"].(int64)
		weights[name] += weight
	}
	return weights
}

// weightsOfMeshRoute are those of the last rule for the first destination of Kuma's MeshHTTPRoute.
func weightsOfMeshRoute(o *unstructured.Unstructured) map[string]int64 {
	weights := map[string]int64{}
	to := entries(o.Object, "spec", "to")
	if len(to) == 0 {
		return weights
	}
	for _, entry := range entries(lastOf(to[0], "rules"), "default", "backendRefs") {
		name, _, _ := strings.Cut(fmt.Sprint(entry["name"]), "_")
		weight, written := entry["weight"].(int64)
		if !written {
			weight = 1
		}
		weights[name] += weight
	}
	return weights
}

// weightsOfRouteGroup are those of the last route of Skipper's RouteGroup, which names backends.
func weightsOfRouteGroup(o *unstructured.Unstructured) map[string]int64 {
	services := map[any]string{}
	for _, backend := range entries(o.Object, "spec", "backends") {
		services[backend["name"]] = fmt.Sprint(backend["serviceName"])
	}
	weights := map[string]int64{}
	for _, entry := range entries(lastOf(o.Object, "spec", "routes"), "backends") {
		weight, _ := entry["weight"].(int64)
		weights[services[entry["backendName"]]] += weight
	}
	return weights
}
