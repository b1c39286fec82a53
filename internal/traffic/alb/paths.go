package alb

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// byAnnotation is the name of a port that stands for an action in an annotation.
const byAnnotation = "use-annotation"

// serviceOf is the Service that a path leads to, and whether that stands for an action.
func serviceOf(entry any) (name string, isAction bool) {
	path, _ := entry.(map[string]any)
	backend, _ := path["backend"].(map[string]any)
	service, _ := backend["service"].(map[string]any)
	port, _ := service["port"].(map[string]any)
	name, _ = service["name"].(string)
	return name, port["name"] == byAnnotation
}

// pathsOf are the paths of a rule, nil if it has none.
func pathsOf(entry any) []any {
	rule, _ := entry.(map[string]any)
	http, _ := rule["http"].(map[string]any)
	paths, _ := http["paths"].([]any)
	return paths
}

// rulesOf are the rules of an Ingress.
func rulesOf(object map[string]any) []any {
	content, _ := object["spec"].(map[string]any)
	rules, _ := content["rules"].([]any)
	return rules
}

// refersTo reports whether paths of an Ingress lead to a Service, and whether one of them does by its action.
func refersTo(object map[string]any, service string) (names, byAction bool) {
	for _, rule := range rulesOf(object) {
		for _, path := range pathsOf(rule) {
			if name, isAction := serviceOf(path); name == service && service != "" {
				names, byAction = true, byAction || isAction
			}
		}
	}
	return names, byAction
}

// withPaths returns the rules of an Ingress with a copy of each path to the root Service for each managed route, before all other paths. What
// was there for managed routes, of which former knows the names, is left out. It reports false if these would be too many.
func withPaths(rules []any, root string, routes []string, former map[string]bool) ([]any, bool) {
	out := slices.Clone(rules)
	added := 0
	for i, rule := range rules {
		paths := pathsOf(rule)
		rest := slices.DeleteFunc(slices.Clone(paths), func(path any) bool {
			name, isAction := serviceOf(path)
			return isAction && former[name] && name != root
		})
		var managed []any
		for _, route := range routes {
			for _, path := range rest {
				if name, isAction := serviceOf(path); name != root || !isAction {
					continue
				}
				if added++; added > mostPaths {
					return nil, false
				}
				managed = append(managed, toAction(path.(map[string]any), route))
			}
		}
		if len(managed) == 0 && len(rest) == len(paths) {
			continue
		}
		copied := maps.Clone(rule.(map[string]any))
		http := maps.Clone(copied["http"].(map[string]any))
		http["paths"] = append(managed, rest...)
		copied["http"] = http
		out[i] = copied
	}
	return out, true
}

// mostPaths is how many paths are added to an Ingress: a load balancer takes far fewer rules.
const mostPaths = 1000

// toAction copies a path for an action.
func toAction(path map[string]any, name string) any {
	out := runtime.DeepCopyJSON(path)
	out["backend"].(map[string]any)["service"].(map[string]any)["name"] = name
	return out
}
