package explore

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/sim"
)

const (
	canaryService, stableService = "web-canary", "web-stable"
	ping, pong                   = "web-ping", "web-pong"
)

var allServices = []string{active, preview, canaryService, stableService, ping, pong}

// routedCanary is a canary with a router, or with Services alone.
func (h *history) routedCanary(s *v1alpha1.RolloutSpec) *v1alpha1.CanaryStrategy {
	c := h.canary()
	c.CanaryService, c.StableService = canaryService, stableService
	s.RollbackWindow = nil
	if h.IntN(4) == 0 {
		s.RollbackWindow = &v1alpha1.RollbackWindowSpec{Revisions: int32(1 + h.IntN(3))}
	}
	if h.IntN(4) == 0 {
		switch h.IntN(3) {
		case 0:
			c.CanaryService = ""
		case 1:
			c.StableService = ""
		}
		return c
	}
	t := &v1alpha1.RolloutTrafficRouting{}
	kind := h.IntN(3)
	if h.copies() {
		kind = 0
	}
	if kind != 1 {
		t.GatewayAPI = &v1alpha1.GatewayAPITrafficRouting{HTTPRoute: "web"}
	}
	h.drawIstio(t, kind)
	listed := h.drawListed(t, kind)
	if t.GatewayAPI != nil || t.Istio != nil || mirroring(t) {
		for _, name := range []string{"beta", "copy"} {
			t.ManagedRoutes = append(t.ManagedRoutes, v1alpha1.ManagedRoute{Name: name})
		}
	}
	if kind != 0 {
		t.Nginx = &v1alpha1.NginxTrafficRouting{StableIngress: "web"}
	}
	if kind == 1 && h.IntN(3) == 0 && t.Istio == nil && !listed {
		t.MaxTrafficWeight = new(int32(1000))
	}
	c.TrafficRouting = t
	if kind == 0 && h.IntN(4) == 0 && !listed {
		c.CanaryService, c.StableService = "", ""
		c.PingPong = &v1alpha1.PingPongSpec{PingService: ping, PongService: pong}
	}
	if h.IntN(3) == 0 {
		c.DynamicStableScale = true
		c.EnforceMaxSurge = h.IntN(2) == 0
	} else {
		c.ScaleDownDelaySeconds = []*int32{nil, new(int32(0)), new(int32(5)), new(int32(300))}[h.IntN(4)]
		if h.IntN(4) == 0 {
			c.ScaleDownDelayRevisionLimit = new(int32(h.IntN(int(*s.RevisionHistoryLimit) + 1)))
		}
	}
	h.drawSelector(t)
	h.drawSessions(c)
	c.AbortScaleDownDelaySeconds = []*int32{nil, nil, new(int32(0)), new(int32(10))}[h.IntN(4)]
	if h.IntN(4) == 0 {
		c.MinPodsPerReplicaSet = new(int32(1 + h.IntN(3)))
	}
	c.Steps = h.stepsFor(c)
	h.putRoutes(c)
	return c
}

// drawIstio adds Istio in one history of four, which the seed says so that the others stay what they were; in half of them it takes the place of
// the Gateway API where that is alone.
func (h *history) drawIstio(t *v1alpha1.RolloutTrafficRouting, kind int) {
	if h.Seed%4 != 3 {
		return
	}
	t.Istio = &v1alpha1.IstioTrafficRouting{VirtualService: &v1alpha1.IstioVirtualService{Name: "web"}}
	if kind == 0 && h.Seed%8 == 3 {
		t.GatewayAPI = nil
	}
}

// routeLabels are the labels by which some histories find their HTTPRoute.
var routeLabels = map[string]string{"team": "shop"}

// drawSelector has the HTTPRoute found by its labels, in place of its name, in one history of sixteen.
func (h *history) drawSelector(t *v1alpha1.RolloutTrafficRouting) {
	if t.GatewayAPI != nil && h.Seed%16 == 10 {
		t.GatewayAPI = &v1alpha1.GatewayAPITrafficRouting{HTTPRouteSelector: &metav1.LabelSelector{MatchLabels: routeLabels}}
	}
}

// drawSessions keeps clients on a version where the routers can and the seed says so: Istio alone, the Gateway API alone, or both.
func (h *history) drawSessions(c *v1alpha1.CanaryStrategy) {
	t := c.TrafficRouting
	if t.Nginx != nil || c.DynamicStableScale || t.GatewayAPI == nil && t.Istio == nil {
		return
	}
	switch h.Seed % 16 {
	case 3, 6, 7, 10:
		t.SessionAffinity = &v1alpha1.SessionAffinity{}
	}
}

// drawListed adds one of the routers whose object lists Services in one history of eight, which the seed says for the same reason; in half of
// them it takes the place of the Gateway API where that is alone. An Ingress is either nginx's or the AWS load balancer's.
func (h *history) drawListed(t *v1alpha1.RolloutTrafficRouting, kind int) bool {
	if h.Seed%8 != 5 {
		return false
	}
	if h.copies() {
		t.Traefik = &v1alpha1.TraefikTrafficRouting{WeightedTraefikServiceName: "web", MirroringTraefikServiceName: mirroringService}
	} else if sim.SetListed(t, int(h.Seed/8)) == "alb" && kind != 0 {
		t.ALB = nil
		return false
	}
	if kind == 0 && h.Seed%16 == 5 {
		t.GatewayAPI = nil
	}
	return true
}

// copies reports whether a history is one of sixteen in which Traefik copies requests, alone or with the Gateway API, which can do that too.
func (h *history) copies() bool { return h.Seed%32 == 13 || h.Seed%32 == 21 }

// mirroringService is the TraefikService that copies.
const mirroringService = "web-mirroring"

// routingOf is how a Rollout splits traffic, nil if it does not.
func routingOf(ro *v1alpha1.Rollout) *v1alpha1.RolloutTrafficRouting {
	if c := ro.Spec.Strategy.Canary; c != nil {
		return c.TrafficRouting
	}
	return nil
}

func mirroring(t *v1alpha1.RolloutTrafficRouting) bool {
	return t != nil && t.Traefik != nil && t.Traefik.MirroringTraefikServiceName != ""
}

// stepsFor are steps that a canary can do.
func (h *history) stepsFor(c *v1alpha1.CanaryStrategy) []v1alpha1.CanaryStep {
	steps := h.steps()
	if c.TrafficRouting == nil {
		return steps
	}
	if n := c.TrafficRouting.MaxTrafficWeight; n != nil {
		for i := range steps {
			if w := steps[i].SetWeight; w != nil {
				*w *= *n / 100
			}
		}
	}
	for range h.IntN(3) {
		var step v1alpha1.CanaryStep
		switch h.IntN(5) {
		case 0:
			step.SetCanaryScale = &v1alpha1.SetCanaryScale{Replicas: new(int32(1 + h.IntN(4)))}
		case 1:
			step.SetCanaryScale = &v1alpha1.SetCanaryScale{Weight: new(int32(1 + h.IntN(100)))}
		case 2:
			step.SetCanaryScale = &v1alpha1.SetCanaryScale{MatchTrafficWeight: true}
		default:
			if len(c.TrafficRouting.ManagedRoutes) == 0 || c.TrafficRouting.Nginx != nil || h.Seed%8 == 5 {
				step.Pause = &v1alpha1.RolloutPause{Duration: new(intstr.FromInt32(int32(h.IntN(30))))}
				break
			}
			step = h.routeStep()
		}
		steps = slices.Insert(steps, h.IntN(len(steps)+1), step)
	}
	if mirroring(c.TrafficRouting) {
		for range 1 + h.IntN(2) {
			steps = slices.Insert(steps, h.IntN(len(steps)+1), h.mirrorStep())
		}
	}
	if c.TrafficRouting.SessionAffinity != nil { // which would split the clients that a mirror route takes again
		steps = slices.DeleteFunc(steps, func(s v1alpha1.CanaryStep) bool { return s.SetMirrorRoute != nil })
	}
	return steps
}

func (h *history) routeStep() v1alpha1.CanaryStep {
	if h.IntN(2) == 0 {
		step := &v1alpha1.SetHeaderRoute{Name: "beta"}
		if h.IntN(3) > 0 {
			step.Match = []v1alpha1.HeaderRoutingMatch{{HeaderName: "x-beta", HeaderValue: &v1alpha1.StringMatch{Exact: "1"}}}
		}
		return v1alpha1.CanaryStep{SetHeaderRoute: step}
	}
	return h.mirrorStep()
}

func (h *history) mirrorStep() v1alpha1.CanaryStep {
	step := &v1alpha1.SetMirrorRoute{Name: "copy"}
	if h.IntN(3) > 0 {
		step.Match = []v1alpha1.RouteMatch{{Path: &v1alpha1.StringMatch{Prefix: "/"}}}
	}
	return v1alpha1.CanaryStep{SetMirrorRoute: step}
}

// putRoutes makes the routes that a canary names, as far as they are not there.
func (h *history) putRoutes(c *v1alpha1.CanaryStrategy) {
	for _, o := range h.sortedRoutesOf(c) {
		if h.named(o.GetKind(), o.GetName()) == nil || c.PingPong != nil {
			h.world.PutRoute(o)
		}
	}
}

// routesOf are the objects that a canary's routers need, as a user writes them.
func routesOf(c *v1alpha1.CanaryStrategy, ro *v1alpha1.Rollout) map[string]*unstructured.Unstructured {
	out := map[string]*unstructured.Unstructured{}
	if c == nil || c.TrafficRouting == nil {
		return out
	}
	stable, canary := c.StableService, c.CanaryService
	if c.PingPong != nil {
		stable, canary = c.PingPong.PingService, c.PingPong.PongService
		if ro != nil && ro.Status.Canary.StablePingPong == v1alpha1.Pong {
			stable, canary = canary, stable
		}
	}
	maps.Copy(out, sim.RouterObjects(c.TrafficRouting, stable, canary))
	if c.TrafficRouting.GatewayAPI != nil {
		out["HTTPRoute"] = sim.HTTPRoute("web", stable)
		if c.TrafficRouting.GatewayAPI.HTTPRouteSelector != nil {
			out["HTTPRoute"].SetLabels(maps.Clone(routeLabels))
		}
	}
	if c.TrafficRouting.Nginx != nil {
		out["Ingress"] = sim.Ingress("web", stable)
	}
	if c.TrafficRouting.SMI != nil {
		out["TrafficSplit"] = sim.TrafficSplit("web", stable)
	}
	return out
}

// route is a route that people made, nil if it is not there.
func (h *history) route(kind string) *unstructured.Unstructured { return h.named(kind, "web") }

func (h *history) named(kind, name string) *unstructured.Unstructured {
	for key, o := range h.world.Routes() {
		if key.Kind == kind && key.Name == name {
			return o
		}
	}
	return nil
}

// restoreRoutes writes what is missing, what does not name the Services of the spec, and Ingresses that are another controller's.
func (h *history) restoreRoutes() {
	for _, o := range h.sortedRoutesOf(h.world.Rollout().Spec.Strategy.Canary) {
		have := h.named(o.GetKind(), o.GetName())
		if have != nil {
			shares, named := sharesOf(have), ingressClass(have) == ingressClass(o)
			for service := range sharesOf(o).by {
				_, is := shares.by[service]
				named = named && is
			}
			if named {
				continue
			}
		}
		h.world.PutRoute(o)
	}
}

func ingressClass(o *unstructured.Unstructured) string {
	class, _, _ := unstructured.NestedString(o.Object, "spec", "ingressClassName")
	return class
}

// routedDisturbances are what else happens where there are routers.
var routedDisturbances = []disturbance{
	{2, "delete a route", func(h *history) {
		kind, name := h.anyRouteKind(), "web"
		if kind == "TraefikService" && mirroring(routingOf(h.world.Rollout())) && h.IntN(2) == 0 {
			name = mirroringService
		}
		h.world.DeleteRoute(kind, name)
	}},
	{4, "restore the routes", (*history).restoreRoutes},
	{3, "replace a route", func(h *history) {
		for _, o := range h.sortedRoutesOf(h.world.Rollout().Spec.Strategy.Canary) {
			h.world.PutRoute(o)
		}
	}},
	{2, "delete what the controller made", func(h *history) {
		for _, key := range sortedKeys(h.world.Routes()) {
			if key.Name != "web" && key.Name != mirroringService {
				h.world.DeleteRoute(key.Kind, key.Name)
			}
		}
	}},
}

// anyRouteKind is one of the kinds that the history may have.
func (h *history) anyRouteKind() string {
	if h.Seed%4 == 3 && h.IntN(3) == 0 {
		return "VirtualService"
	}
	if h.Seed%8 == 5 && h.IntN(3) == 0 {
		return routeKinds[1+h.IntN(len(routeKinds)-1)]
	}
	return routeKinds[h.IntN(2)]
}

// routeKinds are those of the objects that people write.
var routeKinds = []string{"HTTPRoute", "Ingress", "VirtualService", "TraefikService", "ApisixRoute", "Mapping", "HTTPProxy"}

func (h *history) sortedRoutesOf(c *v1alpha1.CanaryStrategy) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, kind := range routeKinds {
		if o := routesOf(c, h.world.Rollout())[kind]; o != nil {
			out = append(out, o)
		}
	}
	if c != nil && mirroring(c.TrafficRouting) {
		out = append(out, sim.TraefikMirroring(mirroringService, "web"))
	}
	return out
}

func (h *history) disturbances() []disturbance {
	all := disturbances
	if h.Routed {
		all = slices.Concat(all, routedDisturbances)
	}
	if h.Hands {
		all = slices.Concat(all, handDisturbances)
	}
	return all
}
