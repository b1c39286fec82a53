package explore

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/proxy"
)

// shares are the weights of Services, of a total.
type shares struct {
	total int64
	by    map[string]int64
}

// service is the one with the most.
func (s shares) service() string {
	most := ""
	for _, name := range slices.Sorted(maps.Keys(s.by)) {
		if most == "" || s.by[name] > s.by[most] {
			most = name
		}
	}
	return most
}

const nginxPrefix = "nginx.ingress.kubernetes.io/"

// sharesOf reads the weights of a route. Of an Ingress they are those of the canary's only.
func sharesOf(o *unstructured.Unstructured) shares {
	out := shares{by: map[string]int64{}}
	if weights, ok := proxy.Weights(o); ok {
		out.by = weights
		for _, weight := range weights {
			out.total += weight
		}
		return out
	}
	switch o.GetKind() {
	case "Ingress":
		return sharesOfIngress(o)
	case "Mapping": // takes what canary Mappings leave
		address, _, _ := unstructured.NestedString(o.Object, "spec", "service")
		service, _, _ := strings.Cut(address, ":")
		return shares{total: 1, by: map[string]int64{service: 1}}
	}
	rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules")
	if len(rules) == 0 {
		return out
	}
	rule, sessions := lastByHand(rules)
	refs, _, _ := unstructured.NestedSlice(rule, "backendRefs")
	for _, r := range refs {
		ref, _ := r.(map[string]any)
		weight := int64(1)
		if w, ok := ref["weight"].(int64); ok {
			weight = w
		}
		out.by[fmt.Sprint(ref["name"])] += weight
		out.total += weight
	}
	for _, service := range sessions { // clients that are kept there are requests, whatever the weight is
		if out.by[service] == 0 {
			out.by[service]++
			out.total++
		}
	}
	return out
}

// lastByHand returns the last rule that people wrote, and the Services to which the rules after it send the clients that they keep on a version.
func lastByHand(rules []any) (rule map[string]any, sessions []string) {
	for _, entry := range slices.Backward(rules) {
		rule, _ = entry.(map[string]any)
		if name, _ := rule["name"].(string); !strings.Contains(name, ".session.") {
			return rule, sessions
		}
		refs, _, _ := unstructured.NestedSlice(rule, "backendRefs")
		for _, ref := range refs {
			sessions = append(sessions, fmt.Sprint(ref.(map[string]any)["name"]))
		}
	}
	return nil, sessions
}

func sharesOfIngress(o *unstructured.Unstructured) shares {
	out := shares{by: map[string]int64{}}
	service := ""
	rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules")
	for _, r := range rules {
		paths, _, _ := unstructured.NestedSlice(r.(map[string]any), "http", "paths")
		for _, p := range paths {
			service, _, _ = unstructured.NestedString(p.(map[string]any), "backend", "service", "name")
		}
	}
	if o.GetAnnotations()[nginxPrefix+"canary"] != "true" {
		out.total, out.by[service] = 1, 1
		return out
	}
	weight, _ := strconv.ParseInt(o.GetAnnotations()[nginxPrefix+"canary-weight"], 10, 64)
	out.total = 100
	if total, err := strconv.ParseInt(o.GetAnnotations()[nginxPrefix+"canary-weight-total"], 10, 64); err == nil {
		out.total = total
	}
	out.by[service] = weight
	return out
}

// picture is where everything goes, by the routers, at one moment of a plan.
type picture struct {
	services map[string]string // the version that each selects
	routes   traffic.Objects
	sizes    map[string]int
}

func (r *rules) picture() picture {
	p := picture{services: map[string]string{}, routes: maps.Clone(r.world.Routes()), sizes: map[string]int{}}
	for _, name := range everyService {
		if s := r.world.Service(name); s != nil {
			p.services[name] = selected(s)
		}
	}
	for _, rs := range r.world.ReplicaSets() {
		p.sizes[hashOf(rs)] = replicas(rs)
	}
	return p
}

// split is the share of each version by each router.
func (r *rules) split(p picture) map[string]shares {
	out := map[string]shares{}
	var ingress *shares
	wanted := routesOf(r.world.Rollout().Spec.Strategy.Canary, nil) // what else is there nobody splits
	for key, o := range p.routes {
		if wanted[key.Kind] == nil {
			continue
		}
		s := sharesOf(o)
		_, listed := proxy.Weights(o)
		switch {
		case key.Name == mirroringService: // sends to the one that splits
		case key.Kind == "Mapping" && key.Name != "web": // counts with the one that it was copied from
		case key.Kind == "Mapping":
			out[key.Kind] = p.byVersion(beside(s, p.routes[canaryMapping(key)]))
		case key.Kind != "Ingress" || listed:
			out[key.Kind] = p.byVersion(s)
		case key.Name != "web":
			ingress = &s
		}
	}
	if split := wanted["TrafficSplit"]; split != nil && out["TrafficSplit"].by == nil { // the mesh leaves the Service alone
		out["TrafficSplit"] = p.byVersion(sharesOf(split))
	}
	if ingress == nil {
		ingress = &shares{total: 1, by: map[string]int64{}}
	}
	for key, o := range p.routes {
		if _, listed := proxy.Weights(o); wanted[key.Kind] != nil && key.Kind == "Ingress" && key.Name == "web" && !listed {
			whole := shares{total: ingress.total, by: maps.Clone(ingress.by)}
			rest := whole.total
			for _, w := range whole.by {
				rest -= w
			}
			whole.by[sharesOf(o).service()] += rest
			out[key.Kind] = p.byVersion(whole)
		}
	}
	return out
}

// beside is what a Mapping sends where next to its canary Mapping, which may be nil: what that leaves.
func beside(base shares, canary *unstructured.Unstructured) shares {
	if canary == nil || base.service() == "" {
		return base
	}
	weight, _, _ := unstructured.NestedInt64(canary.Object, "spec", "weight") // none is 0
	address, _, _ := unstructured.NestedString(canary.Object, "spec", "service")
	service, _, _ := strings.Cut(address, ":")
	out := shares{total: 100, by: map[string]int64{base.service(): 100 - weight}}
	out.by[service] += weight
	return out
}

func canaryMapping(base traffic.Key) traffic.Key {
	base.Name += "-canary"
	return base
}

func (p picture) byVersion(s shares) shares {
	out := shares{total: s.total, by: map[string]int64{}}
	for service, weight := range s.by {
		if hash := p.services[service]; hash != "" && weight > 0 {
			out.by[hash] += weight
		}
	}
	return out
}

func (s shares) of(hash string) float64 {
	if s.total == 0 {
		return 0
	}
	return float64(s.by[hash]) / float64(s.total)
}

// needs is how many of n pods a version needs for what it gets.
func (s shares) needs(hash string, n int32) int {
	if s.total == 0 {
		return 0
	}
	return int((s.by[hash]*int64(n) + s.total - 1) / s.total)
}

func routesText(w *sim.World) string {
	var parts []string
	for _, key := range sortedKeys(w.Routes()) {
		s := sharesOf(w.Routes()[key])
		parts = append(parts, fmt.Sprintf("; %s %s sends %v of %d", key.Kind, key.Name, s.by, s.total))
	}
	return strings.Join(parts, "")
}

func sortedKeys(o traffic.Objects) []traffic.Key {
	return slices.SortedFunc(maps.Keys(o), func(a, b traffic.Key) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
}
