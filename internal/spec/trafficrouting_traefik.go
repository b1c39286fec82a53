package spec

import "github.com/sluice-delivery/sluice/api/v1alpha1"

func (p *problems) traefik(field string, t *v1alpha1.TraefikTrafficRouting) Traefik {
	out := Traefik{Field: field, ServiceField: field + ".weightedTraefikServiceName", Service: t.WeightedTraefikServiceName}
	p.object(out.ServiceField, "TraefikService", out.Service)
	return out
}
