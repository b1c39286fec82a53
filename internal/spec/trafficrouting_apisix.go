package spec

import (
	"fmt"
	"slices"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

func (p *problems) apisix(field string, t *v1alpha1.RolloutTrafficRouting) Apisix {
	out := Apisix{Field: field, RouteField: field + ".route.name"}
	if t.Apisix.Route == nil {
		p.add(field+".route", "is required: name the ApisixRoute whose rules split the traffic")
		return out
	}
	out.Route, out.Rules = t.Apisix.Route.Name, few(p, field+".route.rules", "rules", t.Apisix.Route.Rules)
	p.object(out.RouteField, "ApisixRoute", out.Route)
	for i, name := range out.Rules {
		if slices.Contains(out.Rules[:i], name) {
			p.add(fmt.Sprintf("%s.route.rules[%d]", field, i), "%q is listed already: remove one of the two", name)
		}
	}
	for i, route := range few(p, canaryField+".trafficRouting.managedRoutes", "routes", t.ManagedRoutes) {
		at := fmt.Sprintf("%s.trafficRouting.managedRoutes[%d].name", canaryField, i)
		p.object(at, "ApisixRoute", route.Name)
		if route.Name == out.Route {
			p.add(at, "%q is the ApisixRoute of %s too: choose another name for the managed route", route.Name, field)
			continue
		}
		out.Managed = append(out.Managed, route.Name)
	}
	return out
}
