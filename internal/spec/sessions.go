package spec

import (
	"fmt"
	"regexp"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Sessions is how a router keeps each client on one version while it splits traffic. The zero value: it does not.
type Sessions struct {
	// Cookie is the name of the cookie that says which version it is.
	Cookie string
	// MaxAge is for how many seconds the client sends it.
	MaxAge int32
}

const (
	defaultSessionAge = 86_400
	mostSessionAge    = 31_536_000
)

var cookieNames = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

func sessions(s *v1alpha1.SessionAffinity, rollout string) Sessions {
	if s == nil {
		return Sessions{}
	}
	out := Sessions{Cookie: s.CookieName, MaxAge: orDefault(s.MaxAgeSeconds, defaultSessionAge)}
	if out.Cookie == "" {
		out.Cookie = "sluice-" + rollout
	}
	return out
}

// sessionAffinity refuses sessions that cannot be kept.
func (p *problems) sessionAffinity(field string, c *v1alpha1.CanaryStrategy, routers []Router) {
	s := c.TrafficRouting.SessionAffinity
	if s == nil {
		return
	}
	if s.CookieName != "" && !cookieNames.MatchString(s.CookieName) {
		p.add(field+".cookieName", "%q cannot be the name of a cookie: use letters, digits, dots, dashes, and underscores", s.CookieName)
	}
	if age := orDefault(s.MaxAgeSeconds, defaultSessionAge); age < 1 || age > mostSessionAge {
		p.add(field+".maxAgeSeconds", "%d is out of range: write 1 to %d", age, mostSessionAge)
	}
	if c.DynamicStableScale {
		p.add(field, "keeps clients on the stable version, which dynamicStableScale takes the pods from: remove one of the two")
	}
	for _, r := range routers {
		if a := abilityOf(r); !a.sessions {
			p.add(field, "%s cannot keep clients on a version: remove sessionAffinity, or use istio or gatewayAPI", a.who)
		}
		if g, ok := r.(GatewayAPI); ok {
			p.sessionsOfRoutes(field, g)
		}
	}
	for i, step := range c.Steps {
		if step.SetMirrorRoute != nil {
			p.add(fmt.Sprintf("%s.steps[%d].setMirrorRoute", canaryField, i), "would split the clients that it mirrors again, and sessionAffinity keeps them on a version: remove one of the two")
		}
	}
}

// sessionsOfRoutes refuses routes whose rules cannot tell clients apart by a cookie: those of connections have no headers, and the clients of gRPC keep no
// cookies.
func (p *problems) sessionsOfRoutes(field string, g GatewayAPI) {
	const text = "works with HTTPRoutes only, not with %s: remove sessionAffinity, or %s"
	for _, r := range g.Routes {
		if r.Kind != HTTPRoute {
			p.add(field, text, fmt.Sprintf("%s %q", r.Kind, r.Name), r.Field)
		}
	}
	for _, s := range g.Selectors {
		if s.Kind != HTTPRoute {
			p.add(field, text, s.Kind+"s", s.Field)
		}
	}
}
