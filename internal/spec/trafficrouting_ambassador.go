package spec

import (
	"slices"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

func (p *problems) ambassador(field string, a *v1alpha1.AmbassadorTrafficRouting) Ambassador {
	if len(a.Mappings) == 0 {
		p.add(field+".mappings", "must provide at least one mapping: name the Mappings that route to stableService")
	}
	out := Ambassador{Field: field, Mappings: p.named(field+".mappings", "Mapping", a.Mappings)}
	var canaries []string
	for _, m := range out.Mappings {
		canary := CanaryMapping(m.Name)
		if slices.Contains(canaries, canary) && canary != CanaryMapping("") || slices.Contains(a.Mappings, canary) {
			p.add(m.Field, "the canary Mapping of %q has the name %q, which another one has too: rename one of the Mappings", m.Name, canary)
		}
		canaries = append(canaries, canary)
	}
	return out
}

// CanaryMapping is the name of the canary Mapping of a Mapping.
func CanaryMapping(base string) string {
	const suffix, longest = "-canary", 253
	return base[:min(len(base), longest-len(suffix))] + suffix
}
