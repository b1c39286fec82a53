package gatewayapi

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// request is one as a gateway sees it.
type request struct {
	path, method string
	headers      map[string]string
	query        string // the parameter q, empty for none
}

// Whatever the rules of a route, a mirror route with a path or method changes the way of no request, and one with headers only, like a
// header route, that of no request that does not fit it. What fits a header route goes to the canary, if it went by a rule for the
// stable Service before.
func TestManagedRoutesAndRequests(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	mirrored, sent := 0, 0
	for range 5000 {
		route := randomRoute(random)
		mirror := traffic.MirrorRoute{Name: "copy", Match: []traffic.RequestMatch{randomCondition(random)}, Percent: 50}
		header := traffic.HeaderRoute{Name: "beta", Match: []traffic.HeaderMatch{{Header: "Beta", Value: traffic.StringMatch{Kind: traffic.Exact, Value: "1"}}}}
		plain, withMirror, withHeader := renderRoute(route, nil), renderRoute(route, mirror), renderRoute(route, header)
		for range 10 {
			r := randomRequest(random)
			before := pick(plain, r)
			after := pick(withMirror, r)
			byHeader := mirror.Match[0].Path == nil && mirror.Match[0].Method == nil && fits(r, mirror.Match[0])
			if !byHeader && fmt.Sprint(destinations(before)) != fmt.Sprint(destinations(after)) {
				t.Fatalf("%+v went to %v, and with %+v it goes to %v\n%s", r, destinations(before), mirror, destinations(after), cmp.Diff(plain, withMirror))
			}
			if isManaged(after) {
				mirrored++
				if !fits(r, mirror.Match[0]) {
					t.Fatalf("%+v is mirrored, and does not fit %+v\n%v", r, mirror.Match[0], withMirror)
				}
			}
			after = pick(withHeader, r)
			switch wanted := r.headers["Beta"] == "1"; {
			case wanted && slices.Contains(destinations(before), "stable"):
				sent++
				if !slices.Equal(destinations(after), []string{"canary"}) {
					t.Fatalf("%+v fits the header route, and goes to %v\n%v", r, destinations(after), withHeader)
				}
			case !wanted && fmt.Sprint(destinations(before)) != fmt.Sprint(destinations(after)):
				t.Fatalf("%+v does not fit the header route, and goes to %v instead of %v", r, destinations(after), destinations(before))
			}
		}
	}
	if mirrored < 1000 || sent < 1000 {
		t.Errorf("only %d requests were mirrored, and %d sent to the canary: the test tries too little", mirrored, sent)
	}
}

func one[T any](random *rand.Rand, of ...T) T { return of[random.IntN(len(of))] }

var paths = []string{"/", "/a", "/a/b", "/ab"}

func randomRoute(random *rand.Rand) *unstructured.Unstructured {
	var rules []any
	for i := range 1 + random.IntN(3) {
		match := map[string]any{}
		if random.IntN(3) > 0 {
			match["path"] = path{one(random, pathPrefix, pathPrefix, exact), one(random, paths...)}.object()
		}
		if random.IntN(3) == 0 {
			match["method"] = one(random, "GET", "PUT")
		}
		if random.IntN(3) == 0 {
			match["headers"] = []any{map[string]any{"name": one(random, "X", "Y"), "type": exact, "value": one(random, "1", "2")}}
		}
		service := one(random, "stable", "stable", fmt.Sprintf("other-%d", i))
		rules = append(rules, map[string]any{"matches": []any{match}, "backendRefs": []any{map[string]any{"name": service, "port": int64(80)}}})
	}
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"rules": rules}}}
	o.SetGroupVersionKind(GVK(spec.HTTPRoute))
	o.SetNamespace("shop")
	o.SetName("web")
	return o
}

func randomCondition(random *rand.Rand) traffic.RequestMatch {
	var m traffic.RequestMatch
	if random.IntN(2) == 0 {
		m.Path = &traffic.StringMatch{Kind: one(random, traffic.Prefix, traffic.Exact), Value: one(random, paths...)}
	}
	if random.IntN(3) == 0 {
		m.Method = &traffic.StringMatch{Kind: traffic.Exact, Value: one(random, "GET", "PUT")}
	}
	if random.IntN(3) == 0 || m.Path == nil && m.Method == nil {
		m.Headers = []traffic.HeaderMatch{{Header: one(random, "X", "Y", "Z"), Value: traffic.StringMatch{Kind: traffic.Exact, Value: one(random, "1", "2")}}}
	}
	return m
}

func randomRequest(random *rand.Rand) request {
	r := request{path: one(random, append(paths, "/a/b/c", "/c")...), method: one(random, "GET", "PUT", "POST"), headers: map[string]string{}}
	for _, header := range []string{"X", "Y", "Z", "Beta"} {
		if random.IntN(2) == 0 {
			r.headers[header] = one(random, "1", "2")
		}
	}
	return r
}

// renderRoute renders a route with all traffic on the stable version.
func renderRoute(route *unstructured.Unstructured, managed traffic.Route) []map[string]any {
	g := spec.GatewayAPI{Namespace: "shop", Routes: []spec.GatewayRoute{{Kind: spec.HTTPRoute, Name: "web", Managed: true}}}
	want := traffic.Split{Max: 100, Stable: traffic.Destination{Service: "stable", Weight: 100}, Canary: traffic.Destination{Service: "canary"}}
	if managed != nil {
		want.Routes = []traffic.Route{managed}
	}
	key := traffic.Key{GroupVersionKind: GVK(spec.HTTPRoute), NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}}
	out, _ := New(traffic.Owner{Namespace: "shop", Name: "web"}, g, spec.Policy{}).Render(want, traffic.Objects{key: route}) // it may have no rule for it
	routeSpec := out[key].Object["spec"].(map[string]any)
	return listOf(routeSpec["rules"])
}

// pick is the rule that a gateway sends a request by, nil for none.
func pick(rules []map[string]any, r request) map[string]any {
	var (
		best map[string]any
		rank []int
	)
	for _, rule := range rules {
		for _, match := range matchesOf(rule) {
			if !matched(match, r) {
				continue
			}
			if best == nil || slices.Compare(httpRank(match), rank) > 0 {
				best, rank = rule, httpRank(match)
			}
		}
	}
	return best
}

func matched(match map[string]any, r request) bool {
	p := pathOf(match)
	if p.kind == exact && p.value != r.path || p.kind == pathPrefix && p.value != "/" && r.path != p.value && !strings.HasPrefix(r.path, p.value+"/") {
		return false
	}
	if m := match["method"]; m != nil && m != r.method {
		return false
	}
	for _, q := range listOf(match["queryParams"]) {
		if r.query != q["value"] {
			return false
		}
	}
	for _, h := range listOf(match["headers"]) {
		value := r.headers[h["name"].(string)]
		if isExact(h) && value != h["value"] || !isExact(h) && !regexp.MustCompile(h["value"].(string)).MatchString(value) {
			return false
		}
	}
	return true
}

// Whatever the rules of a route, the rules of sessions change the way of no request without the cookie, and of none that goes elsewhere. A client with
// the cookie of a version goes there where requests are split, and to the canary where a header route sends it there.
func TestSessionsAndRequests(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	kept, elsewhere, byHeader, refused := 0, 0, 0, 0
	for range 5000 {
		route := withQueries(random, randomRoute(random))
		var routes []traffic.Route
		if random.IntN(2) == 0 {
			match := traffic.HeaderMatch{Header: one(random, "Beta", "X"), Value: traffic.StringMatch{Kind: traffic.Exact, Value: "1"}}
			routes = append(routes, traffic.HeaderRoute{Name: "beta", Match: []traffic.HeaderMatch{match}})
		}
		without, problems := renderSessions(route, spec.Sessions{}, routes)
		if len(problems) > 0 {
			continue // it may have no rule to split
		}
		with, problems := renderSessions(route, spec.Sessions{Cookie: "v", MaxAge: 600}, routes)
		if len(problems) > 0 {
			refused++
			continue
		}
		for range 10 {
			r := randomRequest(random)
			r.query = one(random, "", "1", "2")
			cookie := one(random, "", "v=aaa", "a=b; v=bbb", "v=other", "vv=aaa", "v=aaab")
			r.headers["Cookie"] = cookie
			before := destinations(pick(without, r))
			wanted := before
			split := slices.Equal(before, []string{"stable", "canary"})
			switch {
			case split && cookie == "v=aaa":
				wanted = []string{"stable"}
				kept++
			case split && cookie == "a=b; v=bbb":
				wanted = []string{"canary"}
				kept++
			case split:
			case slices.Equal(before, []string{"canary"}):
				byHeader++
			case len(before) > 0:
				elsewhere++
			}
			if got := destinations(pick(with, r)); !slices.Equal(got, wanted) {
				t.Fatalf("%+v goes to %v, and with sessions to %v instead of %v\n%v\n%s", r, before, got, wanted, routes, cmp.Diff(without, with))
			}
		}
	}
	t.Logf("%d kept, %d elsewhere, %d by a header, %d routes refused", kept, elsewhere, byHeader, refused)
	if kept < 1000 || elsewhere < 1000 || byHeader < 1000 || refused < 20 || refused > 2500 {
		t.Errorf("%d kept, %d elsewhere, %d by a header, %d routes refused: the test tries too little", kept, elsewhere, byHeader, refused)
	}
}

// withQueries has some matches of a route ask for a parameter.
func withQueries(random *rand.Rand, route *unstructured.Unstructured) *unstructured.Unstructured {
	for _, rule := range listOf(route.Object["spec"].(map[string]any)["rules"]) {
		for _, match := range listOf(rule["matches"]) {
			if random.IntN(4) == 0 {
				match["queryParams"] = []any{map[string]any{"name": "q", "type": exact, "value": one(random, "1", "2")}}
			}
		}
	}
	return route
}

// renderSessions renders a route with a fifth of the traffic on the canary.
func renderSessions(route *unstructured.Unstructured, s spec.Sessions, routes []traffic.Route) ([]map[string]any, []spec.Problem) {
	g := spec.GatewayAPI{Namespace: "shop", Routes: []spec.GatewayRoute{{Kind: spec.HTTPRoute, Name: "web", Managed: true}}, Sessions: s}
	want := traffic.Split{
		Max: 100, Stable: traffic.Destination{Service: "stable", Hash: "aaa", Weight: 80}, Canary: traffic.Destination{Service: "canary", Hash: "bbb", Weight: 20}, Routes: routes,
	}
	key := traffic.KeyOf(route)
	out, problems := New(traffic.Owner{Namespace: "shop", Name: "web"}, g, spec.Policy{}).Render(want, traffic.Objects{key: route})
	return listOf(out[key].Object["spec"].(map[string]any)["rules"]), problems
}

func fits(r request, m traffic.RequestMatch) bool {
	match := map[string]any{}
	if m.Path != nil {
		match["path"] = path{map[traffic.MatchKind]string{traffic.Exact: exact, traffic.Prefix: pathPrefix}[m.Path.Kind], m.Path.Value}.object()
	}
	if m.Method != nil {
		match["method"] = m.Method.Value
	}
	for _, h := range m.Headers {
		match["headers"] = []any{map[string]any{"name": h.Header, "value": h.Value.Value}}
	}
	return matched(match, r)
}

func isManaged(rule map[string]any) bool {
	name, _ := rule["name"].(string)
	return strings.HasPrefix(name, "sluice.")
}

// destinations are the Services that a rule gives weight to.
func destinations(rule map[string]any) []string {
	var all []string
	for _, ref := range refs(rule) {
		if weight(ref) > 0 {
			all = append(all, ref["name"].(string))
		}
	}
	return all
}
