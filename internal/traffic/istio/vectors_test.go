package istio_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/istio"
)

// TestWeights are the test vectors of the wire reference: a route is host:weight or host/subset:weight, without a weight where there is none.
func TestWeights(t *testing.T) {
	for name, c := range map[string]struct {
		before   string
		canary   int32
		more     map[string]int32
		keep     []string
		after    string
		problems bool
	}{
		"the rest is the stable Service's":                      {before: "s:100 c:0", canary: 10, after: "s:90 c:10"},
		"nothing to do":                                         {before: "s:100 c:0", canary: 0, after: "s:100 c:0"},
		"the first label of a host counts":                      {before: "s.ns.svc.cluster.local:100 c.ns:0", canary: 5, after: "s.ns.svc.cluster.local:95 c.ns:5"},
		"no weight is 0, and stays away":                        {before: "s c", canary: 0, after: "s:100 c"},
		"an experiment is appended":                             {before: "s:90 c:10", canary: 10, more: map[string]int32{"e": 5}, after: "s:85 c:10 e:5"},
		"experiments are sorted":                                {before: "s:90 c:10", canary: 10, more: map[string]int32{"f": 2, "e": 5}, after: "s:83 c:10 e:5 f:2"},
		"one without a Service or without weight is none":       {before: "s:90 c:10", canary: 10, more: map[string]int32{"": 5, "e": 0}, after: "s:90 c:10"},
		"an experiment that is over is removed":                 {before: "s:85 c:10 e:5", canary: 10, after: "s:90 c:10"},
		"a foreign destination with weight is removed":          {before: "s:60 c:20 x:20", canary: 30, after: "s:70 c:30"},
		"several of them, wherever they are":                    {before: "x:1 s:60 y:1 z:1 c:20 x:20 w:0", canary: 30, after: "s:70 c:30 w:0"},
		"one without weight stays":                              {before: "s:100 c:0 x:0", canary: 30, after: "s:70 c:30 x:0"},
		"a second destination for the canary gets nothing more": {before: "s:100 c:0 c:0", canary: 30, after: "s:70 c:30 c:0"},
		"additional subsets keep theirs":                        {before: "h/stable:80 h/canary:0 h/extra:20", canary: 30, keep: []string{"extra"}, after: "h/stable:50 h/canary:30 h/extra:20"},
		"the canary gets no more than they leave":               {before: "h/stable:80 h/canary:0 h/extra:20", canary: 90, keep: []string{"extra"}, after: "h/stable:0 h/canary:80 h/extra:20"},
		"no canary": {before: "s:100 x:0", canary: 0, after: "s:100 x:0", problems: true},
		"no stable": {before: "c:100", canary: 10, after: "c:100", problems: true},
	} {
		t.Run(name, func(t *testing.T) {
			i := oneService()
			have := traffic.Objects{}
			if strings.Contains(c.before, "/") {
				i.DestinationRule = spec.IstioDestinationRule{Field: "r", Name: "h", Canary: "canary", Stable: "stable", Additional: c.keep}
				add(have, istio.DestinationRule, "h", map[string]any{"host": "h", "subsets": []any{map[string]any{"name": "canary"}, map[string]any{"name": "stable"}}})
			}
			before := add(have, istio.VirtualService, "web", map[string]any{"http": []any{map[string]any{"route": routeOf(c.before)}}})
			want := traffic.Split{
				Max: 100, Stable: traffic.Destination{Service: "s", Hash: "aaa", Weight: 100 - c.canary}, Canary: traffic.Destination{Service: "c", Hash: "bbb", Weight: c.canary},
			}
			for service, weight := range c.more {
				want.Additional = append(want.Additional, traffic.Destination{Service: service, Weight: weight})
			}
			after, problems := istio.New(traffic.Owner{Namespace: "shop", Name: "web"}, i, spec.Policy{}).Render(want, have)
			if len(problems) > 0 != c.problems {
				t.Errorf("problems: %v", problems)
			}
			now := after[traffic.KeyOf(before)]
			if got := routeText(now); got != c.after {
				t.Errorf("%s becomes %s, want %s", c.before, got, c.after)
			}
			if c.before == c.after && c.canary == 0 && now != before {
				t.Error("it is written, and nothing has changed")
			}
		})
	}
}

// TestTLSRoutes are the vectors for the choice of tls routes.
func TestTLSRoutes(t *testing.T) {
	routes := map[string]any{
		"A": tls(match(443, "a", "b")), "B": tls(match(443, "a")), "C": tls(match(8443, "a", "b"), match(443, "c")), "D": tls(match(0, "a")), "E": tls(match(443, "b"), match(443, "a", "b")),
	}
	const none = "No matching TLS routes found in the defined Virtual Service."
	for name, c := range map[string]struct {
		among string
		entry spec.IstioTLSRoute
		want  string
	}{
		"the same hosts in another order":       {"A B C", spec.IstioTLSRoute{Port: 443, SNIHosts: []string{"b", "a"}}, "A"},
		"fewer hosts":                           {"A B C", spec.IstioTLSRoute{Port: 443, SNIHosts: []string{"a"}}, "B"},
		"no hosts":                              {"A B C", spec.IstioTLSRoute{Port: 443}, none},
		"two ports":                             {"A B C", spec.IstioTLSRoute{Port: 8443, SNIHosts: []string{"a", "b"}}, none},
		"no port":                               {"A B C D", spec.IstioTLSRoute{SNIHosts: []string{"a"}}, "D"},
		"several routes, and hosts named twice": {"A B C E", spec.IstioTLSRoute{Port: 443, SNIHosts: []string{"a", "b", "a"}}, "A E"},
	} {
		t.Run(name, func(t *testing.T) {
			i := oneService()
			i.VirtualServices[0].TLSRoutes = []spec.IstioTLSRoute{c.entry}
			have, list := traffic.Objects{}, []any{}
			for id := range strings.FieldsSeq(c.among) {
				list = append(list, routes[id])
			}
			before := add(have, istio.VirtualService, "web", map[string]any{"tls": list})
			want := traffic.Split{Max: 100, Stable: traffic.Destination{Service: "s", Weight: 70}, Canary: traffic.Destination{Service: "c", Weight: 30}}
			after, problems := istio.New(traffic.Owner{Namespace: "shop", Name: "web"}, i, spec.Policy{}).Render(want, have)
			got := ""
			for _, p := range problems {
				if strings.Contains(p.Text, none) {
					got = none
				}
			}
			now, _, _ := unstructured.NestedSlice(after[traffic.KeyOf(before)].Object, "spec", "tls")
			for n, id := range strings.Fields(c.among) {
				if strings.Contains(fmt.Sprint(now[n]), "weight:30") {
					got = strings.TrimSpace(got + " " + id)
				}
			}
			if got != c.want {
				t.Errorf("chosen is %q, want %q; problems: %v", got, c.want, problems)
			}
		})
	}
}

func oneService() spec.Istio {
	return spec.Istio{Field: "istio", VirtualServices: []spec.IstioVirtualService{{Field: "v", Namespace: "shop", Name: "web"}}}
}

func add(to traffic.Objects, gvk schema.GroupVersionKind, name string, content map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": content}}
	o.SetGroupVersionKind(gvk)
	o.SetNamespace("shop")
	o.SetName(name)
	to[traffic.KeyOf(o)] = o
	return o
}

func routeOf(text string) []any {
	var all []any
	for part := range strings.FieldsSeq(text) {
		host, weight, weighted := strings.Cut(part, ":")
		host, subset, subsetted := strings.Cut(host, "/")
		destination := map[string]any{"host": host}
		if subsetted {
			destination["subset"] = subset
		}
		entry := map[string]any{"destination": destination}
		if weighted {
			var n int64
			_, _ = fmt.Sscan(weight, &n)
			entry["weight"] = n
		}
		all = append(all, entry)
	}
	return all
}

func routeText(o *unstructured.Unstructured) string {
	routes, _, _ := unstructured.NestedSlice(o.Object, "spec", "http")
	var parts []string
	for _, entry := range routes[0].(map[string]any)["route"].([]any) {
		of := entry.(map[string]any)
		destination := of["destination"].(map[string]any)
		text := fmt.Sprint(destination["host"])
		if subset, ok := destination["subset"]; ok {
			text += fmt.Sprint("/", subset)
		}
		if weight, ok := of["weight"]; ok {
			text += fmt.Sprint(":", weight)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

func match(port int64, hosts ...any) any {
	m := map[string]any{"sniHosts": hosts}
	if port > 0 {
		m["port"] = port
	}
	return m
}

func tls(matches ...any) any { return map[string]any{"match": matches, "route": routeOf("s:100 c:0")} }
