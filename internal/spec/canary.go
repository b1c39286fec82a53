package spec

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

const canaryField = "spec.strategy.canary"

func (p *problems) canary(ro *v1alpha1.Rollout, replicas int32, historyLimit int) Canary {
	c := ro.Spec.Strategy.Canary
	out := Canary{MaxWeight: v1alpha1.DefaultMaxTrafficWeight, Threshold: p.threshold(c.ReplicaProgressThreshold)}
	out.MaxSurge, out.MaxUnavailable = p.limits(c, replicas)
	out.NewMetadata, out.StableMetadata = metadata(c.CanaryMetadata), metadata(c.StableMetadata)
	out.AntiAffinity = p.antiAffinity(canaryField+".antiAffinity", c.AntiAffinity)
	p.canaryServices(&out, c)
	if c.TrafficRouting == nil {
		p.withoutRouter(c)
	} else {
		if c.TrafficRouting.MaxTrafficWeight != nil {
			out.MaxWeight = *c.TrafficRouting.MaxTrafficWeight
		}
		out.Traffic = p.traffic(ro, replicas, historyLimit)
	}
	p.background(&out, c.Analysis)
	for i := range c.Steps {
		if step := p.step(fmt.Sprintf("%s.steps[%d]", canaryField, i), &c.Steps[i], out); step != nil {
			out.Steps = append(out.Steps, step)
		}
	}
	return out
}

// canaryServices reads the Services that the two versions are reached by. With pingPong the first of the two is ping.
func (p *problems) canaryServices(out *Canary, c *v1alpha1.CanaryStrategy) {
	out.CanaryService = Reference{canaryField + ".canaryService", c.CanaryService}
	out.StableService = Reference{canaryField + ".stableService", c.StableService}
	if c.CanaryService != "" && c.CanaryService == c.StableService {
		p.add(out.CanaryService.Field, "canaryService and stableService must be two different Services: each is pointed at one version only, and both are %q", c.CanaryService)
	}
	pair := c.PingPong
	if pair == nil {
		return
	}
	out.PingPong = true
	out.StableService = Reference{canaryField + ".pingPong.pingService", pair.PingService}
	out.CanaryService = Reference{canaryField + ".pingPong.pongService", pair.PongService}
	switch {
	case pair.PingService == "" || pair.PongService == "":
		p.add(canaryField+".pingPong", "pingService is %q and pongService %q: name two Services", pair.PingService, pair.PongService)
	case pair.PingService == pair.PongService:
		p.add(canaryField+".pingPong.pongService", "pingService and pongService must be two different Services: both are %q", pair.PongService)
	case c.TrafficRouting == nil:
		p.add(canaryField+".pingPong", "pingPong needs trafficRouting with alb, istio, gatewayAPI or a plugin: use canaryService and stableService instead")
	case c.TrafficRouting.ALB != nil && c.TrafficRouting.ALB.RootService == "":
		p.add(canaryField+".trafficRouting.alb.rootService", "Root service field is required for the configuration with ALB and ping-pong feature enabled: name the Service in the rules of the Ingress")
	case withoutPingPong(c.TrafficRouting) != "":
		p.add(canaryField+".pingPong", "does not work with %s, whose objects name one stable Service: use canaryService and stableService", withoutPingPong(c.TrafficRouting))
	}
	if c.CanaryService != "" || c.StableService != "" {
		p.add(canaryField+".pingPong", "takes the place of canaryService and stableService: remove those two")
	}
}

// withoutRouter rejects what is invalid when the share of the pods is the share of the traffic.
func (p *problems) withoutRouter(c *v1alpha1.CanaryStrategy) {
	const share = "the share of the pods is the share of the traffic"
	for _, f := range []struct {
		optional
		why string
	}{
		{optional{"scaleDownDelaySeconds", c.ScaleDownDelaySeconds != nil}, share + ", and old pods go as new ones come"},
		{optional{"dynamicStableScale", c.DynamicStableScale}, "the stable version shrinks anyway"},
		{optional{"minPodsPerReplicaSet", c.MinPodsPerReplicaSet != nil}, share},
		{optional{"enforceMaxSurge", c.EnforceMaxSurge}, share},
	} {
		if f.set {
			p.add(canaryField+"."+f.name, "%s needs trafficRouting; remove it: without a router %s", f.name, f.why)
		}
	}
}

// traffic reads what only a canary with a router has.
func (p *problems) traffic(ro *v1alpha1.Rollout, replicas int32, historyLimit int) *Traffic {
	field, c := canaryField+".trafficRouting", ro.Spec.Strategy.Canary
	t := &Traffic{
		Routers:                     p.routers(c.TrafficRouting, ro.Namespace, ro.Name),
		ScaleDownDelay:              seconds(orDefault(c.ScaleDownDelaySeconds, v1alpha1.DefaultScaleDownDelaySeconds)),
		ScaleDownDelayRevisionLimit: int(orDefault(c.ScaleDownDelayRevisionLimit, math.MaxInt32)),
		AbortScaleDownDelay:         seconds(orDefault(c.AbortScaleDownDelaySeconds, v1alpha1.DefaultAbortScaleDownDelaySeconds)),
		AbortDelaySet:               c.AbortScaleDownDelaySeconds != nil,
		DynamicStableScale:          c.DynamicStableScale,
		MinPods:                     min(orDefault(c.MinPodsPerReplicaSet, 1), replicas),
		EnforceMaxSurge:             c.EnforceMaxSurge,
	}
	p.sessionAffinity(field+".sessionAffinity", c, t.Routers)
	t.AbortScaleDown = t.AbortScaleDownDelay > 0
	if t.DynamicStableScale {
		t.ScaleDownDelay = 0 // the old version has shrunk with its traffic
	}
	for _, r := range c.TrafficRouting.ManagedRoutes {
		t.ManagedRoutes = append(t.ManagedRoutes, r.Name)
	}
	if len(t.Routers) == 0 && len(*p) == 0 {
		p.add(field, "names no router: add one, such as istio, gatewayAPI or nginx, or remove it")
	}
	if c.PingPong == nil && (c.CanaryService == "" || c.StableService == "") {
		p.add(canaryField+".canaryService", "Canary service and Stable service must to be set to use Traffic Routing: it tells the versions apart by them")
	}
	if t.DynamicStableScale && c.ScaleDownDelaySeconds != nil {
		p.add(canaryField+".scaleDownDelaySeconds", "scaleDownDelaySeconds cannot be combined with dynamicStableScale, which scales the old version down with its traffic: remove one of the two")
	}
	if t.EnforceMaxSurge && !t.DynamicStableScale {
		p.add(canaryField+".enforceMaxSurge", "enforceMaxSurge needs dynamicStableScale: while the stable version keeps all its pods, the new one cannot have as many")
	}
	if c.ScaleDownDelayRevisionLimit != nil && t.ScaleDownDelayRevisionLimit > historyLimit {
		p.add(canaryField+".scaleDownDelayRevisionLimit", "scaleDownDelayRevisionLimit must not exceed revisionHistoryLimit (10 unless set): lower the one or raise the other: they are %d and %d",
			t.ScaleDownDelayRevisionLimit, historyLimit)
	}
	for _, n := range []struct {
		field string
		value *int32
	}{
		{"scaleDownDelaySeconds", c.ScaleDownDelaySeconds},
		{"scaleDownDelayRevisionLimit", c.ScaleDownDelayRevisionLimit},
		{"abortScaleDownDelaySeconds", c.AbortScaleDownDelaySeconds},
		{"minPodsPerReplicaSet", c.MinPodsPerReplicaSet},
	} {
		if n.value != nil && *n.value < 0 {
			p.add(canaryField+"."+n.field, "%d is negative: write 0 or more", *n.value)
		}
	}
	p.maxTrafficWeight(field, c.TrafficRouting)
	return t
}

// maxTrafficWeight is for routers only whose weights are not percentages.
func (p *problems) maxTrafficWeight(field string, t *v1alpha1.RolloutTrafficRouting) {
	if t.MaxTrafficWeight == nil {
		return
	}
	switch {
	case *t.MaxTrafficWeight < 1:
		p.add(field+".maxTrafficWeight", "%d is too little: write what setWeight counts up to, 100 for percent", *t.MaxTrafficWeight)
	case *t.MaxTrafficWeight > v1alpha1.LargestMaxTrafficWeight:
		p.add(field+".maxTrafficWeight", "%d is more than routers can count to: write %d or less", *t.MaxTrafficWeight, v1alpha1.LargestMaxTrafficWeight)
	case t.Istio != nil && *t.MaxTrafficWeight != v1alpha1.DefaultMaxTrafficWeight, t.Nginx == nil && len(t.Plugins) == 0:
		p.add(field+".maxTrafficWeight", "works with nginx and plugins only: remove it, and give setWeight in percent")
	case *t.MaxTrafficWeight != v1alpha1.DefaultMaxTrafficWeight && (t.ALB != nil || t.Ambassador != nil):
		p.add(field+".maxTrafficWeight", "does not work with alb and ambassador, which count in percent: remove it, and give setWeight in percent")
	case *t.MaxTrafficWeight != v1alpha1.DefaultMaxTrafficWeight:
		for i, c := range t.Custom {
			for j, w := range c.Weights {
				if w.CanaryWeight != "" && w.StableWeight == "" {
					p.add(field+".maxTrafficWeight", "does not work with trafficRouting.custom[%d].weights[%d].canaryWeight, which is in percent where stableWeight is missing: remove maxTrafficWeight, and give setWeight in percent, or set stableWeight", i, j)
					return
				}
			}
		}
	}
}

// setCanaryScale reads a step that sizes the new version apart from its traffic.
func (p *problems) setCanaryScale(field string, s *v1alpha1.SetCanaryScale, c Canary) Step {
	if c.Traffic == nil {
		p.add(field, "setCanaryScale needs trafficRouting: without a router the share of the pods is the share of the traffic, so use setWeight")
	}
	set := 0
	for _, is := range []bool{s.Replicas != nil, s.Weight != nil, s.MatchTrafficWeight} {
		if is {
			set++
		}
	}
	if set > 1 {
		p.add(field, "set only one of weight, replicas and matchTrafficWeight: true")
	}
	for _, n := range []struct {
		name  string
		value *int32
	}{{"replicas", s.Replicas}, {"weight", s.Weight}} {
		if n.value != nil && *n.value < 0 {
			p.add(field+"."+n.name, "%d is negative: write 0 or more", *n.value)
		}
	}
	switch {
	case s.Replicas != nil:
		return SetCanaryScale{Replicas: s.Replicas}
	case s.Weight != nil:
		return SetCanaryScale{Percent: s.Weight}
	}
	return SetCanaryScale{} // matchTrafficWeight, true or, as Argo Rollouts reads it, not
}

// managedRoute checks that a step may add a route: its name is one that the spec gives to the controller.
func (p *problems) managedRoute(field, name string, t *Traffic) {
	if t == nil {
		p.add(field, "needs trafficRouting: only a router can distinguish requests")
		return
	}
	for _, managed := range t.ManagedRoutes {
		if managed == name {
			return
		}
	}
	p.add(field+".name", `the name of every %s must be listed in trafficRouting.managedRoutes, as "- name: <route>": %q is not`, field[strings.LastIndex(field, ".")+1:], name)
}

// stringMatch checks that a comparison is one.
func (p *problems) stringMatch(field string, m *v1alpha1.StringMatch) {
	set := 0
	if m != nil {
		for _, text := range []string{m.Exact, m.Prefix, m.Regex} {
			if text != "" {
				set++
			}
		}
	}
	if set != 1 {
		p.add(field, "set exactly one of exact, regex and prefix")
	}
}

func (p *problems) setHeaderRoute(field string, s *v1alpha1.SetHeaderRoute, c Canary) Step {
	p.managedRoute(field, s.Name, c.Traffic)
	p.feature(field, c, "route by header", func(a ability) bool { return a.headers })
	exact := exactHeaders(c)
	for i, m := range s.Match {
		if exact && m.HeaderValue != nil && m.HeaderValue.Exact == "" && (m.HeaderValue.Prefix != "" || m.HeaderValue.Regex != "") {
			p.add(fmt.Sprintf("%s.match[%d].headerValue", field, i), "SetHeaderRoute match value invalid. ALB supports 'exact' value only: give an exact value")
		}
		if m.HeaderName == "" {
			p.add(fmt.Sprintf("%s.match[%d].headerName", field, i), "is empty: name a header")
		}
		p.stringMatch(fmt.Sprintf("%s.match[%d].headerValue", field, i), m.HeaderValue)
	}
	return SetHeaderRoute{Name: s.Name, Match: s.Match}
}

func (p *problems) setMirrorRoute(field string, s *v1alpha1.SetMirrorRoute, c Canary) Step {
	p.managedRoute(field, s.Name, c.Traffic)
	p.mirrors(field, s, c)
	for i, m := range s.Match {
		at := fmt.Sprintf("%s.match[%d]", field, i)
		if m.Method == nil && m.Path == nil && len(m.Headers) == 0 {
			p.add(at, "set at least one of method, path and headers; to mirror all requests, give path with prefix: /")
		}
		if m.Method != nil {
			p.stringMatch(at+".method", m.Method)
		}
		if m.Path != nil {
			p.stringMatch(at+".path", m.Path)
		}
		for _, name := range slices.Sorted(maps.Keys(m.Headers)) { // or the message would be another each time
			value := m.Headers[name]
			p.stringMatch(at+".headers["+name+"]", &value)
		}
	}
	percent := orDefault(s.Percentage, v1alpha1.DefaultMirrorPercentage)
	if percent < 0 || percent > 100 {
		p.add(field+".percentage", "%d is not a percentage: write 0 to 100", percent)
	}
	return SetMirrorRoute{Name: s.Name, Match: s.Match, Percent: percent}
}

// who is the router as messages about what it cannot do call it.
func (g GatewayAPI) who() string {
	if g.managed() {
		return "the Gateway API"
	}
	return "the Gateway API, whose routes here are TCPRoutes and TLSRoutes,"
}

// managed reports whether steps add rules to any of the routes.
func (g GatewayAPI) managed() bool {
	return slices.ContainsFunc(g.Routes, func(r GatewayRoute) bool { return r.Managed }) ||
		slices.ContainsFunc(g.Selectors, func(s GatewaySelector) bool { return s.Managed })
}
