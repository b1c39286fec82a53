package gatewayapi

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// matcher is what a kind of route knows of requests.
type matcher struct {
	// both combines a match of a rule with a condition. The result is nil if no request fits both, and the text says why if the two cannot
	// be put together.
	both func(match map[string]any, condition traffic.RequestMatch) (map[string]any, string)
	// covers reports whether all requests to what a special match names (a path; a service and a method) may be ones to what a general
	// match names.
	covers func(general, special map[string]any) bool
	// rank orders matches of different rules that fit one request: the Gateway API prefers the higher, and of equal ones the first.
	rank func(match map[string]any) []int
}

// matcherOf is nil for kinds that know no headers.
func matcherOf(kind string) *matcher {
	switch kind {
	case spec.HTTPRoute:
		return &matcher{httpMatch, func(general, special map[string]any) bool { return pathOf(general).covers(pathOf(special)) }, httpRank}
	case spec.GRPCRoute:
		return &matcher{grpcMatch, coversCall, grpcRank}
	}
	return nil
}

func httpRank(match map[string]any) []int {
	p := pathOf(match)
	isExact, hasMethod := 0, 0
	if p.kind == exact {
		isExact = 1
	}
	if match["method"] != nil {
		hasMethod = 1
	}
	return []int{isExact, len(strings.TrimSuffix(p.value, "/")), hasMethod, length(match["headers"]), length(match["queryParams"])}
}

func grpcRank(match map[string]any) []int {
	call, _ := match["method"].(map[string]any)
	service, _ := call["service"].(string)
	method, _ := call["method"].(string)
	return []int{len(service), len(method), length(match["headers"])}
}

func length(list any) int {
	entries, _ := list.([]any)
	return len(entries)
}

// overlap reports whether a request may fit both matches.
func (m *matcher) overlap(a, b map[string]any) bool {
	if !m.covers(a, b) && !m.covers(b, a) {
		return false
	}
	if am, ok := a["method"].(string); ok && b["method"] != nil && b["method"] != am {
		return false
	}
	for _, one := range listOf(a["headers"]) {
		for _, other := range listOf(b["headers"]) {
			if sameHeader(one, other) && isExact(one) && isExact(other) && one["value"] != other["value"] {
				return false
			}
		}
	}
	return true
}

// contains reports whether all requests that fit the special match fit the general one.
func (m *matcher) contains(general, special map[string]any) bool {
	if !m.covers(general, special) || pathOf(general).kind == regular {
		return false
	}
	if method, ok := general["method"].(string); ok && special["method"] != method {
		return false
	}
	for _, asked := range listOf(general["headers"]) {
		if !slices.ContainsFunc(listOf(special["headers"]), func(h map[string]any) bool {
			return sameHeader(asked, h) && isExact(asked) == isExact(h) && asked["value"] == h["value"]
		}) {
			return false
		}
	}
	return length(general["queryParams"]) == 0
}

func listOf(list any) []map[string]any {
	entries, _ := list.([]any)
	var all []map[string]any
	for _, entry := range entries {
		if object, ok := entry.(map[string]any); ok {
			all = append(all, object)
		}
	}
	return all
}

func sameHeader(a, b map[string]any) bool {
	return strings.EqualFold(fmt.Sprint(a["name"]), fmt.Sprint(b["name"]))
}

func isExact(header map[string]any) bool { return header["type"] == nil || header["type"] == exact }

// What is written is what the API server would make of it, so that reading it back changes nothing.
const (
	exact      = "Exact"
	pathPrefix = "PathPrefix"
	regular    = "RegularExpression"
)

func httpMatch(match map[string]any, condition traffic.RequestMatch) (map[string]any, string) {
	out := clone(match)
	path, problem := bothPaths(pathOf(match), condition.Path)
	if path == nil {
		return nil, problem
	}
	out["path"] = path
	if m := condition.Method; m != nil {
		if problem := method(*m); problem != "" {
			return nil, problem
		}
		if given, ok := match["method"].(string); ok && given != m.Value {
			return nil, ""
		}
		out["method"] = m.Value
	}
	return withHeaders(out, condition.Headers)
}

var methods = []string{"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"}

func method(m traffic.StringMatch) string {
	if m.Kind != traffic.Exact || !slices.Contains(methods, m.Value) {
		return fmt.Sprintf("method %s %q is none that the Gateway API can match: write exact and one of %s", m.Kind, m.Value, strings.Join(methods, ", "))
	}
	return ""
}

// path is how a path is compared.
type path struct{ kind, value string }

func (p path) object() map[string]any { return map[string]any{"type": p.kind, "value": p.value} }

// under reports whether the path is the prefix or below it, by whole segments.
func (p path) under(prefix path) bool {
	above := strings.TrimSuffix(prefix.value, "/")
	return strings.TrimSuffix(p.value, "/") == above || strings.HasPrefix(p.value, above+"/")
}

// covers reports whether all that fits another path fits this one. Of expressions it is taken for granted.
func (p path) covers(other path) bool {
	switch {
	case p == other, p.kind == regular, other.kind == regular:
		return true
	case p.kind == exact:
		return false
	}
	return other.under(p)
}

func pathOf(match map[string]any) path {
	out := path{pathPrefix, "/"}
	object, _ := match["path"].(map[string]any)
	if kind, ok := object["type"].(string); ok {
		out.kind = kind
	}
	if value, ok := object["value"].(string); ok {
		out.value = value
	}
	return out
}

func bothPaths(a path, condition *traffic.StringMatch) (map[string]any, string) {
	if condition == nil {
		return a.object(), ""
	}
	b := path{map[traffic.MatchKind]string{traffic.Exact: exact, traffic.Prefix: pathPrefix, traffic.Regex: regular}[condition.Kind], condition.Value}
	if b.kind != regular && !strings.HasPrefix(b.value, "/") {
		return nil, fmt.Sprintf("path %q must begin with a slash", b.value)
	}
	all := path{pathPrefix, "/"}
	switch {
	case a == b, b == all:
		return a.object(), ""
	case a == all:
		return b.object(), ""
	case a.kind == regular, b.kind == regular:
		return nil, fmt.Sprintf("a rule for the path %s %q cannot be combined with the path %s %q: give one of them as Exact or PathPrefix /", a.kind, a.value, b.kind, b.value)
	case b.covers(a):
		return a.object(), ""
	case a.covers(b):
		return b.object(), ""
	}
	return nil, ""
}

// token is what the name of a header is made of.
var token = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+\\-.^_`|~]+$")

// withHeaders adds conditions on headers to a match, which holds those it has already.
func withHeaders(match map[string]any, conditions []traffic.HeaderMatch) (map[string]any, string) {
	given, _ := match["headers"].([]any)
	list := slices.Clone(given)
	for _, condition := range conditions {
		if !token.MatchString(condition.Header) {
			return nil, fmt.Sprintf("%q cannot be the name of a header", condition.Header)
		}
		wanted := header(condition)
		at := slices.IndexFunc(list, func(entry any) bool {
			object, ok := entry.(map[string]any)
			name, _ := object["name"].(string)
			return ok && strings.EqualFold(name, condition.Header)
		})
		if at < 0 {
			list = append(list, wanted)
			continue
		}
		both, problem := bothHeaders(list[at].(map[string]any), wanted, condition)
		if both == nil {
			return nil, problem
		}
		list[at] = both
	}
	if len(list) > 0 {
		match["headers"] = list
	}
	return match, ""
}

// header writes a condition on a header. The Gateway API knows no prefixes of headers. The expression says where it begins and goes on
// to the end, because implementations differ in whether an expression must fit the whole value.
func header(m traffic.HeaderMatch) map[string]any {
	kind, value := exact, m.Value.Value
	switch m.Value.Kind {
	case traffic.Prefix:
		kind, value = regular, "^"+regexp.QuoteMeta(value)+".*"
	case traffic.Regex:
		kind = regular
	case traffic.Exact:
	}
	return map[string]any{"name": m.Header, "type": kind, "value": value}
}

// bothHeaders combines two conditions on one header, of which a match can hold one.
func bothHeaders(given, wanted map[string]any, condition traffic.HeaderMatch) (map[string]any, string) {
	kind, _ := given["type"].(string)
	if kind == "" {
		kind = exact
	}
	value, _ := given["value"].(string)
	switch {
	case kind == wanted["type"] && value == wanted["value"]:
		return given, ""
	case kind == exact && condition.Value.Kind == traffic.Exact:
		return nil, ""
	case kind == exact && condition.Value.Kind == traffic.Prefix:
		if strings.HasPrefix(value, condition.Value.Value) {
			return given, ""
		}
		return nil, ""
	}
	return nil, fmt.Sprintf("a rule asks for the header %s already, as %s %q, which cannot be combined with %s %q: use another header",
		condition.Header, kind, value, condition.Value.Kind, condition.Value.Value)
}

// grpcMatch knows a request by its service and method, which are the two segments of its path; its HTTP method is always POST.
func grpcMatch(match map[string]any, condition traffic.RequestMatch) (map[string]any, string) {
	out := clone(match)
	if m := condition.Method; m != nil {
		if problem := method(*m); problem != "" {
			return nil, problem
		}
		if m.Value != "POST" {
			return nil, ""
		}
	}
	if condition.Path != nil {
		service, method, ok := grpcPath(*condition.Path)
		if !ok {
			return nil, fmt.Sprintf("path %s %q is none that a GRPCRoute can match: write prefix / or /service, or exact /service/method",
				condition.Path.Kind, condition.Path.Value)
		}
		both, problem := bothCalls(match["method"], service, method)
		if both == nil {
			return nil, problem
		}
		if len(both) > 0 {
			out["method"] = both
		}
	}
	return withHeaders(out, condition.Headers)
}

// grpcPath reads the service and the method from a path, empty for any.
func grpcPath(m traffic.StringMatch) (service, method string, ok bool) {
	rest, slash := strings.CutPrefix(m.Value, "/")
	service, method, _ = strings.Cut(rest, "/")
	switch m.Kind {
	case traffic.Exact:
		return service, method, slash && service != "" && method != ""
	case traffic.Prefix:
		return service, "", slash && method == ""
	case traffic.Regex:
	}
	return "", "", false
}

// bothCalls combines the call that a match asks for with a service and a method, which may be empty. Nothing asked for is an empty map.
func bothCalls(given any, service, method string) (map[string]any, string) {
	object, _ := given.(map[string]any)
	out := clone(object)
	if service == "" {
		return out, ""
	}
	if kind, _ := object["type"].(string); kind != "" && kind != exact {
		return nil, fmt.Sprintf("a rule asks for a method of type %s, which cannot be combined with a path: use Exact", kind)
	}
	out["type"] = exact
	for key, value := range map[string]string{"service": service, "method": method} {
		if value == "" {
			continue
		}
		if before, _ := object[key].(string); before != "" && before != value {
			return nil, ""
		}
		out[key] = value
	}
	return out, ""
}

// coversCall compares the services and methods that two matches ask for.
func coversCall(general, special map[string]any) bool {
	a, _ := general["method"].(map[string]any)
	b, _ := special["method"].(map[string]any)
	if a["type"] == regular || b["type"] == regular {
		return true // for all that is known
	}
	for _, key := range []string{"service", "method"} {
		if asked, _ := a[key].(string); asked != "" && asked != b[key] {
			return false
		}
	}
	return true
}
