package gatewayapi

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// notesOfPlugin is the ConfigMap in which the Gateway API plugin noted the rules that it added.
func (r router) notesOfPlugin() traffic.Ref {
	return r.ref(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, r.spec.ConfigMap, r.spec.Field+".configMap")
}

// dropRulesOfPlugin removes the rules that the plugin added for an update that Sluice continues.
//
// The plugin notes indexes, which are right only as long as nobody else has changed the list. So they are believed only before this Rollout or
// another has put anything else into the route, and only of rules that are what the plugin adds: ones that go to the canary and nowhere else.
func (r *route) dropRulesOfPlugin(configMap *unstructured.Unstructured, want traffic.Split) {
	if configMap == nil || !r.mine.empty() || len(r.managed) > 0 {
		return
	}
	key, ok := map[string]string{spec.HTTPRoute: "httpManagedRoutes", spec.GRPCRoute: "grpcManagedRoutes"}[r.object.GetKind()]
	if !ok {
		return
	}
	text, _, err := unstructured.NestedString(configMap.Object, "data", key)
	if err != nil {
		return
	}
	var indexes map[string]map[string]int
	if json.Unmarshal([]byte(text), &indexes) != nil {
		return // notes that cannot be read note nothing
	}
	var dropped []int
	for _, managed := range slices.Sorted(maps.Keys(indexes)) {
		if at, ok := indexes[managed][r.object.GetName()]; ok && at >= 0 && at < len(r.rules) && r.onlyTo(r.rules[at], want.Canary.Service) {
			dropped = append(dropped, at)
		}
	}
	slices.Sort(dropped)
	for _, at := range slices.Backward(slices.Compact(dropped)) {
		r.rules = slices.Delete(r.rules, at, at+1)
	}
}

// dropNamedByPlugin removes the rules that the plugin added under the names of managed routes, which are n, n-1, n-2 and so on.
func (r *route) dropNamedByPlugin(want traffic.Split) {
	r.rules = slices.DeleteFunc(r.rules, func(entry any) bool {
		of, _ := entry.(rule)
		name, _ := of["name"].(string)
		return name != "" && r.onlyTo(entry, want.Canary.Service) && slices.ContainsFunc(want.Managed, func(managed string) bool {
			if name == managed {
				return true
			}
			number, numbered := strings.CutPrefix(name, managed+"-")
			n, err := strconv.ParseUint(number, 10, 16)
			return numbered && err == nil && strconv.FormatUint(n, 10) == number
		})
	})
}

// onlyTo reports whether a rule goes to a Service and nowhere else.
func (r *route) onlyTo(entry any, service string) bool {
	of, _ := entry.(rule)
	list, _ := of["backendRefs"].([]any)
	return len(list) > 0 && service != "" && !slices.ContainsFunc(list, func(ref any) bool { return r.service(ref) != service })
}
