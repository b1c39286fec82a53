package gatewayapi

import (
	"slices"

	"github.com/sluice-delivery/sluice/internal/traffic"
)

// Weight implements [traffic.Router].
func (r router) Weight(of traffic.Split, have traffic.Objects) (traffic.Interval, bool) {
	var shown []traffic.Interval
	for _, in := range r.spec.Routes {
		object := have[r.ref(GVK(in.Kind), in.Name, in.Field).Key()]
		if object == nil {
			return traffic.Interval{}, false
		}
		weights, ok := open(r.owner, object).weights(of)
		if !ok {
			return traffic.Interval{}, false
		}
		shown = append(shown, weights...)
	}
	return traffic.AndAll(shown)
}

// weights are the canary's weights in the rules that name the stable Service, other than managed ones. It reports false if there is no such
// rule, or one whose weights cannot be read.
func (r *route) weights(of traffic.Split) ([]traffic.Interval, bool) {
	sources := r.sources(of.Stable.Service)
	var all []traffic.Interval
	for _, rule := range sources {
		canary, total := int64(0), int64(0)
		for _, ref := range refs(rule) {
			if !r.splits(of, r.service(ref)) {
				continue
			}
			w := weight(ref)
			if w < 0 || w > maxWeight {
				return nil, false
			}
			total += w
			if r.service(ref) == of.Canary.Service {
				canary += w
			}
		}
		one, ok := traffic.Portion(canary, total, of.Max)
		if !ok {
			return nil, false
		}
		all = append(all, one)
	}
	return all, len(sources) > 0
}

// maxWeight is the largest weight of a backendRef that the API server takes.
const maxWeight = 1_000_000

// splits reports whether a Service is one between which the traffic is, or was, split.
func (r *route) splits(of traffic.Split, service string) bool {
	if service == "" {
		return false
	}
	if _, noted := r.mine.Services[service]; noted || service == of.Stable.Service {
		return true
	}
	return slices.ContainsFunc(others(of), func(d traffic.Destination) bool { return d.Service == service })
}
