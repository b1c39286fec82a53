package plan

import (
	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// release gives a Service back, which selects the pods of all versions from then on. Where Services and routes say who gets what, whoever
// still uses it would get to a version that is on trial. So it selects the stable version until no other has pods, and until the active
// Service that took its place was seen to send there.
func (p *pass) release(name string) {
	if c, ok := p.spec.Strategy.(spec.Canary); ok && c.Traffic == nil { // the share of the pods is the share of the traffic
		p.free(name)
		return
	}
	keeper := p.keeper()
	switch {
	case keeper == nil:
		p.Note(change.TopicWait, "the release of service "+name, "no version has pods yet")
	case p.promoted() && p.onlyPods(keeper) && p.replaced(keeper):
		p.free(name)
	case p.held:
		p.Note(change.TopicWait, "service "+name, "routes may send to it, and "+keeper.Name+" has too few pods for that")
	case keeper.certain() >= min(1, p.spec.Replicas):
		p.point(name, keeper.hash, notNamed+", and other versions have pods")
	default:
		p.Note(change.TopicWait, "service "+name, keeper.Name+" has no available pod")
	}
}

func (p *pass) free(name string) {
	freed := p.editService(name, notNamed)
	delete(freed.Spec.Selector, v1alpha1.PodTemplateHashLabel)
	delete(freed.Annotations, v1alpha1.ManagedByAnnotation)
	p.Note(change.TopicRoute, "release service "+name, notNamed)
}

// keeper is the version that whoever uses a Service is to get to that is not named any more: the stable one, or what serves in its place.
func (p *pass) keeper() *version {
	if stable := p.find(p.is.StableRS); stable != nil {
		return stable
	}
	if p.isBlueGreen() {
		return p.serving
	}
	return p.new
}

// onlyPods reports whether no other version has pods.
func (p *pass) onlyPods(of *version) bool {
	for _, v := range p.all() {
		if v != of && v.fleet().occupies() > 0 {
			return false
		}
	}
	return true
}

// replaced reports whether what took the place of a Service was seen to send to a version.
func (p *pass) replaced(v *version) bool {
	b, ok := p.spec.Strategy.(spec.BlueGreen)
	return !ok || p.observedSelects(b.ActiveService) == v.hash
}
