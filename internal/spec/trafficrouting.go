package spec

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Routers are the traffic routers of a Rollout, as far as the spec is valid.
func Routers(ro *v1alpha1.Rollout) []Router {
	c := ro.Spec.Strategy.Canary
	if c == nil || c.TrafficRouting == nil {
		return nil
	}
	var p problems
	return p.routers(c.TrafficRouting, ro.Namespace, ro.Name)
}

// routers resolves the traffic routers of a Rollout.
func (p *problems) routers(t *v1alpha1.RolloutTrafficRouting, namespace, name string) []Router {
	const field = canaryField + ".trafficRouting"
	if t.AppMesh != nil {
		p.add(field+".appMesh", "AWS App Mesh ended on 30 September 2026: remove it, and use gatewayAPI, for instance with Amazon VPC Lattice, or istio")
	}
	var all []Router
	if t.Istio != nil {
		i := p.istio(field+".istio", t.Istio, t.ManagedRoutes, namespace)
		i.Sessions = sessions(t.SessionAffinity, name)
		all = append(all, i)
	}
	if t.Nginx != nil {
		n := p.nginx(field+".nginx", t.Nginx)
		n.MaxWeight = orDefault(t.MaxTrafficWeight, 0)
		all = append(all, n)
	}
	if t.ALB != nil {
		all = append(all, p.alb(field+".alb", t))
	}
	if t.SMI != nil {
		all = append(all, p.smi(field+".smi", t.SMI))
	}
	if t.Ambassador != nil {
		all = append(all, p.ambassador(field+".ambassador", t.Ambassador))
	}
	if t.Traefik != nil {
		all = append(all, p.traefik(field+".traefik", t.Traefik))
	}
	if t.Apisix != nil {
		all = append(all, p.apisix(field+".apisix", t))
	}
	gateway := t.GatewayAPI
	if gateway != nil {
		g := p.gatewayAPI(field+".gatewayAPI", gateway, namespace)
		g.Sessions = sessions(t.SessionAffinity, name)
		all = append(all, g)
	}
	for i, c := range few(p, field+".custom", "objects", t.Custom) {
		all = append(all, p.custom(fmt.Sprintf("%s.custom[%d]", field, i), c, namespace))
	}
	for _, id := range slices.Sorted(maps.Keys(t.Plugins)) {
		plugin := pluginField(field, id)
		switch {
		case id != v1alpha1.GatewayAPIPluginName:
			all = append(all, p.plugin(plugin, id, t.Plugins[id]))
		case gateway != nil:
			p.add(plugin, "is the same router as %s.gatewayAPI, which is set too: keep one of the two", field)
		default:
			g := p.gatewayAPIPlugin(plugin, t.Plugins[id], namespace)
			g.Sessions = sessions(t.SessionAffinity, name)
			g.Plugin.Sessions = g.Sessions
			all = append(all, g)
		}
	}
	return all
}

// plugin is the router of a plugin, whose settings are its own affair.
func (p *problems) plugin(field, name string, settings json.RawMessage) Plugin {
	return Plugin{Field: field, Name: name, Config: p.shortSettings(field, settings)}
}

// shortSettings are those of a plugin, if they are short enough.
func (p *problems) shortSettings(field string, settings json.RawMessage) json.RawMessage {
	if len(settings) > mostSettings {
		p.add(field, "has %d bytes of settings, and a plugin may have %d: shorten them", len(settings), mostSettings)
		return nil
	}
	return settings
}

// mostSettings is how long the settings of a plugin may be: they travel with each question.
const mostSettings = 64 << 10

// oneOrMany reads what can be given as one name or as a list. It reports whether it is the one name.
func (p *problems) oneOrMany(field, one, many string, name string, listed int) bool {
	if name != "" && listed > 0 {
		p.add(field+"."+many, "set only one of %s and %s: move %q into the list", one, many, name)
	}
	return name != "" && listed == 0
}

// mostRoutes is how many objects a list in the spec may name: each is read in every pass.
const mostRoutes = 50

// few refuses lists that are too long, and returns the part of it that is read all the same.
func few[T any](p *problems, field, what string, list []T) []T {
	if len(list) <= mostRoutes {
		return list
	}
	p.add(field, "lists %d %s, and a Rollout may name %d: leave some of them out", len(list), what, mostRoutes)
	return list[:mostRoutes]
}

// object checks the name of an object that the spec refers to.
func (p *problems) object(field, kind, name string) {
	if name == "" {
		p.add(field, "is empty: name the %s", kind)
		return
	}
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		p.add(field, "%q cannot be the name of a %s: %s", name, kind, problems[0])
	}
}
