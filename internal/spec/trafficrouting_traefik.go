package spec

import "github.com/sluice-delivery/sluice/api/v1alpha1"

func (p *problems) traefik(field string, t *v1alpha1.TraefikTrafficRouting) Traefik {
	out := Traefik{Field: field, ServiceField: field + ".weightedTraefikServiceName", Service: t.WeightedTraefikServiceName}
	p.object(out.ServiceField, "TraefikService", out.Service)
	name := t.MirroringTraefikServiceName
	if name == "" {
		return out
	}
	at := field + "." + mirroringTraefikService
	if name == out.Service {
		p.add(at, "name another TraefikService than weightedTraefikServiceName: one with spec.mirroring, which sends to the weighted one: %q is both", name)
		return out
	}
	p.object(at, "TraefikService", name)
	out.Mirroring, out.MirroringField = name, at
	return out
}

// mirroringTraefikService is the field that names the TraefikService with the mirrors.
const mirroringTraefikService = "mirroringTraefikServiceName"
