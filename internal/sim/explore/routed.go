package explore

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

// weights is what is known of the versions that routers send to, and did.
type weights struct {
	// carrying are the versions that some router sent to when last seen.
	carrying map[string]bool
	// left are those that no router sends to any more.
	left map[string]departure
	// bent: somebody changed a Service, a route or the strategy by hand, and the controller has not been at rest since.
	bent bool
	// seenServices, seenRoutes and seenStrategy are those things as nobody but the controller has changed them.
	seenServices []*corev1.Service
	seenRoutes   traffic.Objects
	seenStrategy *v1alpha1.RolloutStrategy
}

// shares are the weights of Services, of a total.
type shares struct {
	total int64
	by    map[string]int64
}

// service is the one with the most.
func (s shares) service() string {
	most := ""
	for _, name := range slices.Sorted(maps.Keys(s.by)) {
		if most == "" || s.by[name] > s.by[most] {
			most = name
		}
	}
	return most
}

const nginxPrefix = "nginx.ingress.kubernetes.io/"

// sharesOf reads the weights of a route. Of an Ingress they are those of the canary's only.
func sharesOf(o *unstructured.Unstructured) shares {
	if o.GetKind() == "Ingress" {
		return sharesOfIngress(o)
	}
	out := shares{by: map[string]int64{}}
	rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules")
	if len(rules) == 0 {
		return out
	}
	rule, _ := rules[len(rules)-1].(map[string]any) // managed rules come first
	refs, _, _ := unstructured.NestedSlice(rule, "backendRefs")
	for _, r := range refs {
		ref, _ := r.(map[string]any)
		weight := int64(1)
		if w, ok := ref["weight"].(int64); ok {
			weight = w
		}
		out.by[fmt.Sprint(ref["name"])] += weight
		out.total += weight
	}
	return out
}

func sharesOfIngress(o *unstructured.Unstructured) shares {
	out := shares{by: map[string]int64{}}
	service := ""
	rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules")
	for _, r := range rules {
		paths, _, _ := unstructured.NestedSlice(r.(map[string]any), "http", "paths")
		for _, p := range paths {
			service, _, _ = unstructured.NestedString(p.(map[string]any), "backend", "service", "name")
		}
	}
	if o.GetAnnotations()[nginxPrefix+"canary"] != "true" {
		out.total, out.by[service] = 1, 1
		return out
	}
	weight, _ := strconv.ParseInt(o.GetAnnotations()[nginxPrefix+"canary-weight"], 10, 64)
	out.total = 100
	if total, err := strconv.ParseInt(o.GetAnnotations()[nginxPrefix+"canary-weight-total"], 10, 64); err == nil {
		out.total = total
	}
	out.by[service] = weight
	return out
}

// picture is where everything goes, by the routers, at one moment of a plan.
type picture struct {
	services map[string]string // the version that each selects
	routes   traffic.Objects
	sizes    map[string]int
}

func (r *rules) picture() picture {
	p := picture{services: map[string]string{}, routes: maps.Clone(r.world.Routes()), sizes: map[string]int{}}
	for _, name := range allServices {
		if s := r.world.Service(name); s != nil {
			p.services[name] = selected(s)
		}
	}
	for _, rs := range r.world.ReplicaSets() {
		p.sizes[hashOf(rs)] = replicas(rs)
	}
	return p
}

// split is the share of each version by each router.
func (r *rules) split(p picture) map[string]shares {
	out := map[string]shares{}
	var ingress *shares
	wanted := routesOf(r.world.Rollout().Spec.Strategy.Canary, nil) // what else is there nobody splits
	for key, o := range p.routes {
		if wanted[key.Kind] == nil {
			continue
		}
		s := sharesOf(o)
		if key.Kind != "Ingress" {
			out[key.Kind] = p.byVersion(s)
		} else if key.Name != "web" {
			ingress = &s
		}
	}
	if ingress == nil {
		ingress = &shares{total: 1, by: map[string]int64{}}
	}
	for key, o := range p.routes {
		if wanted[key.Kind] != nil && key.Kind == "Ingress" && key.Name == "web" {
			whole := shares{total: ingress.total, by: maps.Clone(ingress.by)}
			rest := whole.total
			for _, w := range whole.by {
				rest -= w
			}
			whole.by[sharesOf(o).service()] += rest
			out[key.Kind] = p.byVersion(whole)
		}
	}
	return out
}

func (p picture) byVersion(s shares) shares {
	out := shares{total: s.total, by: map[string]int64{}}
	for service, weight := range s.by {
		if hash := p.services[service]; hash != "" && weight > 0 {
			out.by[hash] += weight
		}
	}
	return out
}

func (s shares) of(hash string) float64 {
	if s.total == 0 {
		return 0
	}
	return float64(s.by[hash]) / float64(s.total)
}

// needs is how many of n pods a version needs for what it gets.
func (s shares) needs(hash string, n int32) int {
	if s.total == 0 {
		return 0
	}
	return int((s.by[hash]*int64(n) + s.total - 1) / s.total)
}

// seeHand notes what somebody else changed.
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
		text += fmt.Sprint(t.GatewayAPI != nil, t.Nginx != nil, t.MaxTrafficWeight != nil)
	}
	return text
}

// trust ends the time in which what somebody bent is being set right.
func (r *rules) trust(p sim.Pass) {
	if !p.Stale && p.Whole() && len(p.Plan.Route) == 0 && r.world.Quiet() && !invalid(r.world.Rollout(), "") {
		r.weights.bent = false
	}
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

// carried checks a plan write by write: traffic goes only to pods that can carry it, and pods do not go from under it.
func (r *rules) carried(p sim.Pass, s spec.Rollout) {
	c, ok := s.Strategy.(spec.Canary)
	if !ok || !r.history.Routed || r.weights.bent || len(r.world.Rollout().Status.CurrentPodHash) == 0 {
		return
	}
	status := after(p)
	delete(r.weights.left, current(status))
	now := r.picture()
	for _, change := range slices.Concat(p.Plan.Grow, p.Plan.Route, p.Plan.Shrink) {
		next := picture{maps.Clone(now.services), maps.Clone(now.routes), maps.Clone(now.sizes)}
		switch change := change.(type) {
		case plan.CreateReplicaSet:
			next.sizes[hashOf(change.ReplicaSet)] = replicas(change.ReplicaSet)
		case plan.UpdateReplicaSet:
			next.sizes[hashOf(change.To)] = replicas(change.To)
			if replicas(change.To) < replicas(change.From) {
				r.shrunk(p, s, c, hashOf(change.To), now, next)
			}
		case plan.UpdateService:
			have := r.world.Service(change.From.Name)
			if have == nil || have.ResourceVersion != change.From.ResourceVersion {
				return // a conflict
			}
			next.services[change.From.Name] = selected(change.To)
			r.moved(p, s, c, now, next)
			r.pointed(p, s, c, change)
		case plan.WriteRoute:
			if change.From == nil {
				next.routes[traffic.KeyOf(change.To)] = change.To
			} else if key := traffic.KeyOf(change.From); next.routes[key] == nil || next.routes[key].GetResourceVersion() != change.From.GetResourceVersion() {
				return // a conflict
			} else if change.To == nil {
				delete(next.routes, key)
			} else {
				next.routes[key] = change.To
			}
			r.moved(p, s, c, now, next)
		}
		now = next
	}
}

// current is the version that is being updated to, empty during an abort.
func current(s v1alpha1.RolloutStatus) string {
	if s.Abort {
		return ""
	}
	return s.CurrentPodHash
}

// explicit is how many pods the spec wants the canary to have at the least, by a setCanaryScale; many if there is none.
func explicit(c spec.Canary, n int32) int {
	least := math.MaxInt
	for _, step := range c.Steps {
		switch s, ok := step.(spec.SetCanaryScale); {
		case ok && s.Replicas != nil:
			least = min(least, int(*s.Replicas))
		case ok && s.Percent != nil:
			least = min(least, int((int64(*s.Percent)*int64(n)+int64(c.MaxWeight)-1)/int64(c.MaxWeight)))
		}
	}
	return least
}

// needed is how many pods a version needs, at the least, to carry its share.
func needed(s spec.Rollout, c spec.Canary, share shares, hash, current string) int {
	n := share.needs(hash, s.Replicas)
	if c.Traffic.EnforceMaxSurge && n > 1 { // a pod is spared for less than one unit of the weight
		weight := share.by[hash] * int64(c.MaxWeight) / share.total
		n = max(n-1, int((weight-1)*int64(s.Replicas)/int64(c.MaxWeight))+1)
	}
	if hash == current {
		n = min(n, max(1, explicit(c, s.Replicas)))
		for n > 0 && c.Threshold.Met(int32(n-1), int32(n)) && n > 1 {
			n--
		}
	}
	return max(n-int(c.MaxUnavailable), min(n, 1))
}

func (r *rules) moved(p sim.Pass, s spec.Rollout, c spec.Canary, now, next picture) {
	if c.Traffic == nil || s.Replicas == 0 {
		return
	}
	before, status := r.split(now), after(p)
	for route, then := range r.split(next) {
		was, ok := before[route]
		if !ok || len(was.by) == 0 {
			continue
		}
		someone := false // who loses has nobody
		for hash := range was.by {
			someone = someone || then.of(hash) < was.of(hash) && carries(find(p.Observed, hash)) > 0
		}
		for hash := range then.by {
			if then.of(hash) <= was.of(hash) {
				continue
			}
			have := carries(find(p.Observed, hash))
			if !someone && have > 0 {
				continue
			}
			if need := needed(s, c, then, hash, status.CurrentPodHash); have < need {
				r.history.fail("weight", "%s: %s gets %.3f instead of %.3f with %d available pods, needing %d: %s", route, hash, then.of(hash), was.of(hash), have, need, summary(r.world))
			}
			from := p.Observed.Rollout.Status
			if hash == status.CurrentPodHash && status.Abort && from.Abort && from.AbortedAt != nil && status.StableRS != hash {
				r.history.fail("abort", "%s: %s gets %.3f instead of %.3f although its update was aborted", route, hash, then.of(hash), was.of(hash))
			}
		}
	}
}

// pointed checks what a Service is pointed at that may not be weighed by a router.
func (r *rules) pointed(p sim.Pass, s spec.Rollout, c spec.Canary, u plan.UpdateService) {
	from, to := selected(u.From), selected(u.To)
	if s.Replicas == 0 || from == to || to == "" || c.Traffic != nil && (c.PingPong || after(p).Abort) {
		return
	}
	if carries(find(p.Observed, to)) == 0 && (from == "" || carries(find(p.Observed, from)) > 0) {
		r.history.fail("service", "%s is pointed at %s, which has no available pod: %s", u.From.Name, to, summary(r.world))
	}
}

func (r *rules) shrunk(p sim.Pass, s spec.Rollout, c spec.Canary, hash string, now, next picture) {
	to, from, status := next.sizes[hash], now.sizes[hash], after(p)
	if to >= from || to >= int(s.Replicas) {
		return
	}
	if c.Traffic == nil {
		for _, service := range []string{c.CanaryService.Name, c.StableService.Name} {
			if now.services[service] != hash || to > 0 || service == "" {
				continue
			}
			for _, rs := range p.Observed.ReplicaSets {
				if hashOf(rs) != hash && carries(rs) > 0 && carries(find(p.Observed, hash)) > 0 {
					r.history.fail("service", "%s is scaled to nothing while %s selects it: %s", hash, service, summary(r.world))
				}
			}
		}
		return
	}
	for route, share := range r.split(r.picture()) { // as it was before the pass: what it moves has to be seen first
		if need := needed(s, c, share, hash, status.CurrentPodHash); to < need {
			r.history.fail("shrink", "%s is scaled from %d to %d and carries %.3f of %s: %s", hash, from, to, share.of(hash), route, summary(r.world))
		}
	}
	if to == 0 && s.Replicas > 0 && now.services[r.stableService(c)] == hash {
		r.history.fail("shrink", "%s is scaled to nothing while the stable service selects it: %s", hash, summary(r.world))
	}
	d, left := r.weights.left[hash]
	if left && hash != current(status) && r.world.Now().Before(d.at.Add(d.delay)) && r.newerKept(p.Observed, status, hash) < c.Traffic.ScaleDownDelayRevisionLimit {
		r.history.fail("delay", "%s is scaled from %d to %d, %s after the traffic left it, not %s: %s", hash, from, to, r.world.Now().Sub(d.at), d.delay, summary(r.world))
	}
}

func (r *rules) stableService(c spec.Canary) string {
	if c.PingPong && r.world.Rollout().Status.Canary.StablePingPong != v1alpha1.Ping {
		return c.CanaryService.Name
	}
	return c.StableService.Name
}

// mostRouted is how many pods there may be.
func mostRouted(s spec.Rollout, c spec.Canary) int {
	if !c.Traffic.EnforceMaxSurge {
		return math.MaxInt32
	}
	return int(max(s.Replicas+c.MaxSurge, 2*min(s.Replicas, 1)))
}

// endOfRoutes checks that everything goes to the one version, and that nothing is left of what the controller made.
func (r *rules) endOfRoutes(s spec.Rollout) {
	if !r.history.Routed {
		return
	}
	status := r.world.Rollout().Status
	c, canary := s.Strategy.(spec.Canary)
	if !canary || c.Traffic == nil {
		for key, o := range r.world.Routes() {
			if len(routers.Owners(o)) > 0 {
				r.history.fail("end", "%s %s is not given back", key.Kind, key.Name)
			}
		}
		return
	}
	if w := status.Canary.Weights; w == nil || w.Canary.Weight != 0 || w.Stable.Weight != c.MaxWeight {
		r.history.fail("end", "the status tells of weights %v", w)
	}
	raw := r.world.Rollout().Spec.Strategy.Canary
	split := r.split(r.picture())
	for kind := range routesOf(raw, r.world.Rollout()) {
		if s.Replicas > 0 && split[kind].of(status.CurrentPodHash) != 1 {
			r.history.fail("end", "%s sends %v", kind, split[kind])
		}
	}
	for key, o := range r.world.Routes() {
		if routesOf(raw, r.world.Rollout())[key.Kind] == nil && len(routers.Owners(o)) > 0 {
			r.history.fail("end", "%s %s is not given back", key.Kind, key.Name)
		}
	}
	if o := r.history.route("HTTPRoute"); o != nil {
		if rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules"); len(rules) != 1 {
			r.history.fail("end", "%d rules are left", len(rules))
		}
	}
}

func routesText(w *sim.World) string {
	var parts []string
	for _, key := range sortedKeys(w.Routes()) {
		s := sharesOf(w.Routes()[key])
		parts = append(parts, fmt.Sprintf("; %s %s sends %v of %d", key.Kind, key.Name, s.by, s.total))
	}
	return strings.Join(parts, "")
}

func sortedKeys(o traffic.Objects) []traffic.Key {
	return slices.SortedFunc(maps.Keys(o), func(a, b traffic.Key) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
}
