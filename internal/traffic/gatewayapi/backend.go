package gatewayapi

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluice-delivery/sluice/internal/traffic"
)

// refs are the backendRefs of a rule, as far as they can be read.
func refs(of rule) []map[string]any {
	list, _ := of["backendRefs"].([]any)
	var all []map[string]any
	for _, entry := range list {
		if ref, ok := entry.(map[string]any); ok {
			all = append(all, ref)
		}
	}
	return all
}

// serviceKey tells where a backendRef goes.
func serviceKey(ref map[string]any) string { return fmt.Sprint(ref["namespace"], "/", ref["name"]) }

// service is the name of the Service in the Rollout's namespace that a backendRef goes to, "" if it goes elsewhere.
func (r *route) service(entry any) string {
	ref, ok := entry.(map[string]any)
	if !ok {
		return ""
	}
	if group, _ := ref["group"].(string); group != "" {
		return ""
	}
	if kind, _ := ref["kind"].(string); kind != "" && kind != "Service" {
		return ""
	}
	namespace, _ := ref["namespace"].(string)
	if namespace == "" {
		namespace = r.object.GetNamespace()
	}
	if namespace != r.owner.Namespace {
		return ""
	}
	name, _ := ref["name"].(string)
	return name
}

// weight of a backendRef. One that is not written means 1.
func weight(ref map[string]any) int64 {
	switch w := ref["weight"].(type) {
	case int64:
		return w
	case float64:
		if w == math.Trunc(w) {
			return int64(w)
		}
		return -1 // never wanted
	case json.Number:
		n, err := w.Int64()
		if err != nil {
			return -1
		}
		return n
	case nil:
		return 1
	}
	return -1
}

// setWeight writes a weight, unless it is what is meant already.
func setWeight(ref map[string]any, to int32) {
	if weight(ref) != int64(to) {
		ref["weight"] = int64(to)
	}
}

// toService copies a backendRef for another Service, with the port, the namespace and whatever else is said about it.
func toService(ref map[string]any, name string, weight int32) map[string]any {
	out := runtime.DeepCopyJSON(ref)
	out["name"], out["weight"] = name, int64(weight)
	return out
}

// weigh gives the weights of the split to all rules that name the stable Service, and reports whether there is one.
func (r *route) weigh(want traffic.Split) bool {
	before := r.mine.Services
	r.mine.Services = nil
	found := false
	for _, entry := range r.rules {
		of, ok := entry.(rule)
		if !ok {
			continue
		}
		if list, ok := of["backendRefs"].([]any); ok && r.find(list, want.Stable.Service) >= 0 {
			found = true
			of["backendRefs"] = r.weighRule(list, outline(of), want, before)
		}
	}
	if !found {
		r.mine.Services = before // to be undone when it is there again
		return false
	}
	if r.mine.Stable = ""; len(r.mine.Services) > 0 {
		r.mine.Stable = want.Stable.Service
	}
	return true
}

// find returns the index of the first backendRef to a Service, -1 if there is none.
func (r *route) find(list []any, service string) int {
	if service == "" {
		return -1
	}
	return slices.IndexFunc(list, func(entry any) bool { return r.service(entry) == service })
}

// weighRule returns the backendRefs of a rule with the weights of the split. A missing Service that carries weight is added
// next to the stable one, and removed when it carries none; one that users listed themselves stays, with weight 0.
func (r *route) weighRule(list []any, outline string, want traffic.Split, before map[string][]string) []any {
	others, alone := others(want), len(list) == 1
	list = r.withoutFormer(list, outline, want, before)
	for _, d := range others {
		wasAdded := slices.Contains(before[d.Service], outline)
		at := r.find(list, d.Service)
		switch {
		case at < 0 && d.Weight > 0:
			stable := r.find(list, want.Stable.Service)
			added := toService(list[stable].(map[string]any), d.Service, d.Weight)
			list = slices.Insert(list, r.behind(list, stable, others), any(added))
			r.note(d.Service, outline)
		case at < 0:
		case d.Weight <= 0 && (wasAdded || d.Service != want.Canary.Service):
			list = r.without(list, d.Service)
		default:
			r.carry(list, d)
			if wasAdded || d.Service != want.Canary.Service { // a destination of an experiment is never there to stay
				r.note(d.Service, outline)
			} else if d.Weight > 0 {
				r.note(d.Service, "")
			}
		}
	}
	if alone && len(list) == 1 && want.Stable.Weight > 0 && weight(list[0].(map[string]any)) > 0 {
		return list // all there is, whatever its weight is called
	}
	r.carry(list, want.Stable)
	return list
}

// others are the destinations beside the stable one, each Service once.
func others(want traffic.Split) []traffic.Destination {
	var all []traffic.Destination
	for _, d := range append([]traffic.Destination{want.Canary}, want.Additional...) {
		known := d.Service == want.Stable.Service || slices.ContainsFunc(all, func(o traffic.Destination) bool { return o.Service == d.Service })
		if d.Service != "" && !known {
			all = append(all, d)
		}
	}
	return all
}

// behind is the place behind the stable backendRef and those of the split that stand beside it.
func (r *route) behind(list []any, stable int, others []traffic.Destination) int {
	at := stable + 1
	for at < len(list) && slices.ContainsFunc(others, func(d traffic.Destination) bool { return d.Service == r.service(list[at]) }) {
		at++
	}
	return at
}

// carry gives the first backendRef to a Service its weight, and further ones none.
func (r *route) carry(list []any, d traffic.Destination) {
	weight := d.Weight
	for _, entry := range list {
		if r.service(entry) == d.Service {
			setWeight(entry.(map[string]any), weight)
			weight = 0
		}
	}
}

// withoutFormer takes the weight from Services that the split does not name any more.
func (r *route) withoutFormer(list []any, outline string, want traffic.Split, before map[string][]string) []any {
	for service, added := range before {
		named := service == want.Stable.Service || slices.ContainsFunc(others(want), func(d traffic.Destination) bool { return d.Service == service })
		switch {
		case named:
		case slices.Contains(added, outline):
			list = r.without(list, service)
		default:
			r.carry(list, traffic.Destination{Service: service})
		}
	}
	return list
}

func (r *route) without(list []any, service string) []any {
	return slices.DeleteFunc(list, func(entry any) bool { return r.service(entry) == service })
}

// note notes a Service that is given weight, and the rule that it was put into if it was.
func (r *route) note(service, outline string) {
	if r.mine.Services == nil {
		r.mine.Services = map[string][]string{}
	}
	added := r.mine.Services[service]
	if added == nil {
		added = []string{}
	}
	if outline != "" && !slices.Contains(added, outline) {
		added = append(added, outline)
	}
	r.mine.Services[service] = added
}

// dropAdded removes the backendRefs that were added.
func (r *route) dropAdded() {
	for _, entry := range r.rules {
		of, ok := entry.(rule)
		if !ok {
			continue
		}
		list, ok := of["backendRefs"].([]any)
		if !ok {
			continue
		}
		for service, added := range r.mine.Services {
			if slices.Contains(added, outline(of)) {
				list = r.without(list, service)
			}
		}
		of["backendRefs"] = list
	}
	r.mine.Services, r.mine.Stable = nil, ""
}

// toStable moves the weights of the noted Services to the stable one, in the rules that have it.
func (r *route) toStable() {
	for _, entry := range r.rules {
		of, _ := entry.(rule)
		list, _ := of["backendRefs"].([]any)
		if r.find(list, r.mine.Stable) < 0 {
			continue
		}
		total := int64(0)
		for _, ref := range refs(of) {
			service := r.service(ref)
			if _, noted := r.mine.Services[service]; noted || service == r.mine.Stable {
				total += max(0, weight(ref))
				r.carry(list, traffic.Destination{Service: service})
			}
		}
		r.carry(list, traffic.Destination{Service: r.mine.Stable, Weight: int32(min(total, maxWeight))})
	}
}
