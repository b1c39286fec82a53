package spec

import (
	"iter"
	"slices"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// ability is what a router can do beyond weights for two versions: what its Features say, as far as the spec alone tells.
type ability struct {
	// who is what messages call it.
	who string
	// headers and mirrors: it takes setHeaderRoute and setMirrorRoute. additional: it takes weights of experiments.
	headers, mirrors, additional bool
	// toMirror is what makes it take setMirrorRoute, empty if nothing does. toSelect is how to have some requests copied where it copies all of them
	// or none, empty if it selects.
	toMirror, toSelect string
	// exact: it compares headers with whole values alone.
	exact bool
	// sessions: it keeps clients on a version by a cookie.
	sessions bool
}

func abilityOf(r Router) ability {
	switch r := r.(type) {
	case GatewayAPI:
		return ability{who: r.who(), headers: r.managed(), mirrors: r.managed(), additional: true, sessions: true}
	case Istio:
		return ability{who: "istio", headers: true, mirrors: true, additional: true, sessions: true}
	case Nginx:
		return ability{who: "nginx"}
	case Apisix:
		return ability{who: "apisix", headers: true}
	case ALB:
		return ability{who: "alb", headers: true, exact: true, additional: true}
	case SMI:
		return ability{who: "smi", additional: true}
	case Ambassador:
		return ability{who: "ambassador"}
	case Plugin:
		return ability{who: "plugin " + r.Name, headers: true, mirrors: true, additional: true}
	case Traefik:
		return ability{
			who: "traefik", mirrors: r.Mirroring != "",
			toMirror: "name a TraefikService with spec.mirroring in trafficRouting.traefik." + mirroringTraefikService,
			toSelect: "send only these to the mirroring TraefikService, by an IngressRoute of your own",
		}
	case Custom:
		return ability{who: "custom", headers: r.HeaderRules != nil}
	}
	return ability{who: "the router"}
}

// feature refuses what one of the routers cannot do.
func (p *problems) feature(field string, c Canary, what string, can func(ability) bool) {
	for a := range abilities(c) {
		if !can(a) {
			p.add(field, "%s cannot %s: remove the step, or use a router that can", a.who, what)
		}
	}
}

// mirrors refuses to mirror requests where one of the routers cannot.
func (p *problems) mirrors(field string, s *v1alpha1.SetMirrorRoute, c Canary) {
	for a := range abilities(c) {
		switch {
		case !a.mirrors && a.toMirror != "":
			p.add(field, "%s cannot mirror requests: %s, or remove the step", a.who, a.toMirror)
		case !a.mirrors:
			p.add(field, "%s cannot mirror requests: remove the step, or use a router that can", a.who)
		case a.toSelect != "" && len(s.Match) > 0 && !slices.ContainsFunc(s.Match, matchesAll):
			p.add(field+".match", "%s cannot select the requests to copy: write match: [{path: {prefix: /}}], and %s", a.who, a.toSelect)
		}
	}
}

// matchesAll reports whether a match is the one that all requests fit.
func matchesAll(m v1alpha1.RouteMatch) bool {
	return m.Method == nil && len(m.Headers) == 0 && m.Path != nil && *m.Path == v1alpha1.StringMatch{Prefix: "/"}
}

// abilities are those of the routers.
func abilities(c Canary) iter.Seq[ability] {
	return func(yield func(ability) bool) {
		if c.Traffic == nil {
			return
		}
		for _, r := range c.Traffic.Routers {
			if !yield(abilityOf(r)) {
				return
			}
		}
	}
}

// withoutPingPong is the first router of a Rollout that knows the versions by the Services that its objects name once and for all; empty if
// there is none.
func withoutPingPong(t *v1alpha1.RolloutTrafficRouting) string {
	for _, router := range []optional{
		{"nginx", t.Nginx != nil},
		{"smi", t.SMI != nil},
		{"ambassador", t.Ambassador != nil},
		{"traefik", t.Traefik != nil},
		{"apisix", t.Apisix != nil},
		{"custom", len(t.Custom) > 0},
	} {
		if router.set {
			return router.name
		}
	}
	return ""
}

// exactHeaders reports whether one of the routers compares headers with whole values alone.
func exactHeaders(c Canary) bool {
	return c.Traffic != nil && slices.ContainsFunc(c.Traffic.Routers, func(r Router) bool { return abilityOf(r).exact })
}
