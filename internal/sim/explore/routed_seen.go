package explore

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// weights is what is known of the versions that routers send to, and did.
type weights struct {
	// carrying are the versions that some router sent to when last seen.
	carrying map[string]bool
	// left are those that no router sends to any more.
	left map[string]departure
	// bent: a Service, a route or the strategy was edited manually, and the controller has not been at rest since.
	bent bool
	// seenServices, seenRoutes and seenStrategy are those things as nobody but the controller has changed them.
	seenServices []*corev1.Service
	seenRoutes   traffic.Objects
	seenStrategy *v1alpha1.RolloutStrategy
}

// seeWeights notes who has lost all traffic.
func (r *rules) seeWeights() {
	if !r.history.Routed {
		return
	}
	r.weights.seenServices, r.weights.seenRoutes = r.world.Services(), r.world.Routes()
	now := map[string]bool{}
	for _, s := range r.split(r.picture()) {
		for hash := range s.by {
			now[hash] = true
			delete(r.weights.left, hash)
		}
	}
	if !r.weights.bent {
		for hash := range r.weights.carrying {
			if !now[hash] {
				r.weights.left[hash] = departure{r.world.Now(), time.Duration(math.MaxInt64)}
			}
		}
	}
	r.weights.carrying = now
	r.seeRouteDelays()
}

func (r *rules) seeRouteDelays() {
	s := r.now()
	c, ok := s.spec.Strategy.(spec.Canary)
	if !s.ok {
		return
	}
	if !ok || c.Traffic == nil {
		clear(r.weights.left)
		return
	}
	delay := c.Traffic.ScaleDownDelay
	if c.Traffic.AbortScaleDown {
		delay = min(delay, c.Traffic.AbortScaleDownDelay)
	}
	for hash, d := range r.weights.left {
		d.delay = min(d.delay, delay)
		r.weights.left[hash] = d
	}
}

// seeHand notes what someone else changed.
func (r *rules) seeHand() {
	services, routes, strategy := r.world.Services(), r.world.Routes(), &r.world.Rollout().Spec.Strategy
	if !slices.Equal(services, r.weights.seenServices) || !maps.Equal(routes, r.weights.seenRoutes) {
		r.weights.bent = true
	}
	if c := strategy.Canary; r.weights.seenStrategy == nil || (c == nil) != (r.weights.seenStrategy.Canary == nil) || c != nil && routerText(c) != routerText(r.weights.seenStrategy.Canary) {
		r.weights.bent = true
	}
	r.weights.seenServices, r.weights.seenRoutes, r.weights.seenStrategy = services, routes, strategy.DeepCopy()
	r.seeWeights()
	r.seeRouteDelays()
	if r.weights.bent {
		clear(r.weights.left)
	}
}

func routerText(c *v1alpha1.CanaryStrategy) string {
	text := fmt.Sprint(c.CanaryService, c.StableService, c.PingPong)
	if t := c.TrafficRouting; t != nil {
		text += fmt.Sprint(t.Istio != nil, t.Traefik != nil, t.ALB != nil, t.Apisix != nil, t.SMI != nil, t.Ambassador != nil, t.GatewayAPI != nil, t.Nginx != nil, len(t.Custom) > 0, t.MaxTrafficWeight != nil)
	}
	return text
}

// trust ends the time in which a manual edit is being reverted.
func (r *rules) trust(p sim.Pass) {
	if !r.meddled && !p.Stale && p.Whole() && len(p.Plan.Route) == 0 && r.world.Quiet() && !invalid(r.world.Rollout(), "") {
		r.weights.bent = false
	}
}
