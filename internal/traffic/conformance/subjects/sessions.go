package subjects

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance"
)

// SessionsOfRoutes reads what keeps clients on a version in each rule that names the stable Service.
func SessionsOfRoutes(objects traffic.Objects) (all []conformance.Sessions) {
	for _, o := range objects {
		rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules") // none is none
		for _, rule := range rules {
			of := rule.(map[string]any)
			set := cookiesOfRule(of)
			if _, splits := set[conformance.Stable]; !splits || cookieOfRule(of) != "" {
				continue
			}
			all = append(all, conformance.Sessions{Set: set, To: func(header string) string {
				for _, other := range rules {
					expression := cookieOfRule(other)
					if expression != "" && reflect.DeepEqual(matchesWithoutCookie(other), matchesWithoutCookie(of)) && regexp.MustCompile(expression).MatchString(header) {
						refs := other.(map[string]any)["backendRefs"].([]any)
						return fmt.Sprint(refs[0].(map[string]any)["name"])
					}
				}
				return ""
			}})
		}
	}
	return all
}

// cookieOfRule is the expression for the header Cookie by which all matches of a rule go, empty if they do not.
func cookieOfRule(rule any) (expression string) {
	matches, _ := rule.(map[string]any)["matches"].([]any)
	for _, match := range matches {
		before := expression
		headers, _ := match.(map[string]any)["headers"].([]any)
		for _, entry := range headers {
			if header := entry.(map[string]any); header["name"] == "Cookie" && header["type"] == "RegularExpression" {
				expression, _ = header["value"].(string)
			}
		}
		if before != "" && expression != before {
			return ""
		}
	}
	return expression
}

// matchesWithoutCookie are the matches of a rule as the API server completes them, without the header Cookie.
func matchesWithoutCookie(rule any) []any {
	matches, _ := runtime.DeepCopyJSONValue(rule.(map[string]any)["matches"]).([]any)
	if len(matches) == 0 {
		matches = []any{map[string]any{}}
	}
	for _, entry := range matches {
		match := entry.(map[string]any)
		if match["path"] == nil {
			match["path"] = map[string]any{"type": "PathPrefix", "value": "/"}
		}
		headers, _ := match["headers"].([]any)
		rest := []any{}
		for _, header := range headers {
			if name := header.(map[string]any)["name"]; name != "Cookie" {
				rest = append(rest, header)
			}
		}
		match["headers"] = rest
	}
	return matches
}

// cookiesOfRule are the cookies that the Services of a rule set, empty for one that sets none.
func cookiesOfRule(rule map[string]any) map[string]string {
	set := map[string]string{}
	refs, _ := rule["backendRefs"].([]any)
	for _, entry := range refs {
		ref := entry.(map[string]any)
		if kind, ok := ref["kind"]; ok && kind != "Service" {
			continue
		}
		name := fmt.Sprint(ref["name"])
		set[name] = ""
		filters, _ := ref["filters"].([]any)
		for _, filter := range filters {
			added, _, _ := unstructured.NestedSlice(filter.(map[string]any), "responseHeaderModifier", "add")
			for _, header := range added {
				if header := header.(map[string]any); header["name"] == "Set-Cookie" {
					set[name], _ = header["value"].(string)
				}
			}
		}
	}
	return set
}

// SessionsOfVirtualServices reads what keeps clients on a version in each route that leads to the stable Service.
func SessionsOfVirtualServices(objects traffic.Objects) (all []conformance.Sessions) {
	for _, o := range objects {
		list, _, _ := unstructured.NestedSlice(o.Object, "spec", "http") // none is none
		for _, entry := range list {
			route := entry.(map[string]any)
			set := cookiesOfRoute(route)
			if _, splits := set[conformance.Stable]; !splits || sessionRoute(route) {
				continue
			}
			all = append(all, conformance.Sessions{Set: set, To: func(header string) string {
				for _, other := range list {
					other := other.(map[string]any)
					if sessionRoute(other) && reflect.DeepEqual(withoutCookie(other), withoutCookie(route)) && cookieFits(other, header) {
						for service := range cookiesOfRoute(other) {
							return service
						}
					}
				}
				return ""
			}})
		}
	}
	return all
}

func sessionRoute(route map[string]any) bool {
	name, _ := route["name"].(string)
	return strings.HasPrefix(name, "sluice-session.")
}

func istioMatches(route map[string]any) []any {
	matches, _ := runtime.DeepCopyJSONValue(route["match"]).([]any)
	if len(matches) == 0 {
		matches = []any{map[string]any{}}
	}
	return matches
}

// cookieFits reports whether all matches of a route fit a header Cookie, of which Istio compares the whole.
func cookieFits(route map[string]any, header string) bool {
	for _, match := range istioMatches(route) {
		expression, _, _ := unstructured.NestedString(match.(map[string]any), "headers", "cookie", "regex")
		if expression == "" || !regexp.MustCompile("^(?:"+expression+")$").MatchString(header) {
			return false
		}
	}
	return true
}

func withoutCookie(route map[string]any) []any {
	matches := istioMatches(route)
	for _, match := range matches {
		unstructured.RemoveNestedField(match.(map[string]any), "headers", "cookie")
		if headers, ok := match.(map[string]any)["headers"].(map[string]any); ok && len(headers) == 0 {
			delete(match.(map[string]any), "headers")
		}
	}
	return matches
}

// cookiesOfRoute are the cookies that the destinations of a route set, empty for one that sets none.
func cookiesOfRoute(route map[string]any) map[string]string {
	set := map[string]string{}
	list, _ := route["route"].([]any)
	for _, entry := range list {
		destination, _ := entry.(map[string]any)["destination"].(map[string]any)
		service, _, _ := strings.Cut(fmt.Sprint(destination["host"]), ".")
		set[service], _, _ = unstructured.NestedString(entry.(map[string]any), "headers", "response", "add", "Set-Cookie")
	}
	return set
}
