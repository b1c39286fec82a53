package plan

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

// notNamed is why something is given back.
const notNamed = "the Rollout does not name it any more"

// giveBack releases what this Rollout has marked as its own and does not name any more: routes of other routers than those, and Services.
// Requests may still come by them. So the stable version has its pods first; then routes send to its Service alone; and only when no route
// is seen to tell the Services apart are these released.
func (p *pass) giveBack(named ...traffic.Router) {
	p.recordElsewhere(named)
	routes := p.unnamedRoutes(named)
	if len(routes) > 0 && !p.carriesAlone() {
		return
	}
	for _, route := range routes {
		p.routeWrites = append(p.routeWrites, route)
		p.Note(change.TopicRoute, "release "+route.From.GetKind()+" "+route.From.GetName(), route.Reason)
	}
	unnamed := p.unnamedServices()
	if len(p.problems) > 0 || len(p.routeWrites) > 0 && p.answer(unnamed) {
		return
	}
	for _, s := range unnamed {
		p.release(s.Name)
	}
}

// carriesAlone reports whether the stable version can take what routes send to another one still, as far as it is to have pods for that.
func (p *pass) carriesAlone() bool {
	stable := p.stableBeside()
	if stable == nil {
		return true
	}
	needed := min(1, p.spec.Replicas)
	if p.isBlueGreen() {
		needed = p.spec.Replicas
	}
	if have := stable.certain(); have < needed {
		p.Note(change.TopicWait, "the routes keep their weights", fmt.Sprintf("%d of %d pods of the stable version available", have, needed))
		return false
	}
	return true
}

// answer reports whether each of the Services selects a version that has pods.
func (p *pass) answer(services []*corev1.Service) bool {
	return !slices.ContainsFunc(services, func(s *corev1.Service) bool { return p.find(p.selects(s.Name)).fleet().serving() == 0 })
}

// unnamedServices are marked as this Rollout's, and none of those that it names.
func (p *pass) unnamedServices() []*corev1.Service {
	named := spec.Services(p.Rollout)
	var unnamed []*corev1.Service
	for _, s := range p.Services {
		is := func(ref spec.Reference) bool { return ref.Name == s.Name }
		if s.Annotations[v1alpha1.ManagedByAnnotation] == p.Rollout.Name && !slices.ContainsFunc(named, is) {
			unnamed = append(unnamed, s)
		}
	}
	return unnamed
}

// withUnnamed are Services that may carry requests: those, and what is still to be given back.
func (p *pass) withUnnamed(services ...string) []string {
	for _, s := range p.unnamedServices() {
		services = append(services, s.Name)
	}
	return services
}

// unnamedRoutes take out of objects that the spec does not name any more what a router put there for this Rollout.
func (p *pass) unnamedRoutes(named []traffic.Router) []change.WriteRoute {
	keep := map[traffic.Key]bool{}
	for _, router := range named {
		for _, ref := range router.Refs() {
			keep[ref.Key()] = true
		}
	}
	var writes []change.WriteRoute
	owner := p.routeOwner()
	for _, key := range slices.SortedFunc(maps.Keys(p.Routes), compareKeys) {
		from := p.Routes[key]
		if keep[key] || !p.maySee(key) || !slices.Contains(routers.Owners(from, p.Policy), types.NamespacedName{Namespace: owner.Namespace, Name: owner.Name}) {
			continue
		}
		to := routers.Release(owner, from)
		if to != nil && equality.Semantic.DeepEqual(from.Object, to.Object) {
			continue
		}
		writes = append(writes, change.WriteRoute{From: from, To: to, Reason: notNamed})
	}
	return writes
}
