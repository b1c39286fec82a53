package spec

import (
	"slices"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// ability is what a router can do beyond weights for two versions: what its Features say, as far as the spec alone tells.
type ability struct {
	// who is what messages call it.
	who string
	// headers and mirrors: it takes setHeaderRoute and setMirrorRoute. additional: it takes weights of experiments.
	headers, mirrors, additional bool
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
		return ability{who: "traefik"}
	case Custom:
		return ability{who: "custom", headers: r.HeaderRules != nil}
	}
	return ability{who: "the router"}
}

// feature refuses what one of the routers cannot do.
func (p *problems) feature(field string, c Canary, what string, can func(ability) bool) {
	if c.Traffic == nil {
		return
	}
	for _, r := range c.Traffic.Routers {
		if a := abilityOf(r); !can(a) {
			p.add(field, "%s cannot %s: remove the step, or use a router that can", a.who, what)
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
