package plan

import (
	"fmt"

	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// canary moves the new version towards the current step's weight, then the rollout to the next step.
func (p *pass) canary(c spec.Canary) {
	if p.is.StableRS == "" {
		p.promote("Initial deploy")
	}
	p.separate(c.AntiAffinity)
	p.dress()
	if c.Traffic != nil {
		p.routing = newRouting(p, c)
		p.routing.routedCanary()
	} else {
		p.basicCanary(c)
	}
	if p.mayAdvance(c) {
		p.advance(c)
	}
}

// basicCanary has the pods be the traffic: both versions answer behind one Service, and the share of the pods is the share of the
// requests.
func (p *pass) basicCanary(c spec.Canary) {
	p.is.Canary.Weights, p.is.Canary.StablePingPong = nil, ""
	p.checkServices()
	if len(p.problems) == 0 {
		p.pointBasic(c)
		p.giveBack()
	}
	p.scaleCanary(c)
}

func (p *pass) scaleCanary(c spec.Canary) {
	if why := p.mayNotScale(); why != "" {
		p.Note(change.TopicWait, "nothing is scaled and no step ends", why)
		if p.create != nil {
			p.scaleNew(0, why)
		}
		return
	}
	var (
		l           = limits{replicas: p.spec.Replicas, maxSurge: c.MaxSurge, maxUnavailable: c.MaxUnavailable}
		ideal, why  = p.ideal(c)
		stable      = p.stableBeside()
		next        = basicCounts(l, ideal, p.new.fleet(), stable.fleet(), p.otherFleets())
		stillServes = p.new.fleet().serving() + stable.fleet().serving()
	)
	p.scaleNew(p.keptForService(c, p.new, next.canary), why)
	if stable != nil {
		p.scale(stable, p.keptForService(c, stable, next.stable), fmt.Sprintf("%s, which leaves %d", why, ideal.stable))
	}
	for _, o := range p.otherFleets() {
		stillServes += o.serving()
	}
	for i, n := range oldCounts(l, stillServes, p.otherFleets()) {
		p.scale(&p.others[i], p.keptForService(c, &p.others[i], n), "neither the new nor the stable version")
	}
}

// mayNotScale is why no pods may be added or taken away now, empty if they may.
func (p *pass) mayNotScale() string {
	if p.spec.Paused && !p.is.Abort { // an abort is urgent, and does not wait for someone to end the pause
		return "spec.paused is set"
	}
	if p.decidesFast() {
		return "whether the version runs still has to be recorded first"
	}
	if !p.isRouted() && len(p.routeWrites) > 0 {
		return "what a router was told has to be taken back first"
	}
	return p.unseenSize()
}

// unseenSize is which size the ReplicaSet controller has not seen yet, empty if it has seen all.
func (p *pass) unseenSize() string {
	// Until the ReplicaSet controller has seen the newest size, what it counted may be pods that are about to go, or miss some that
	// were about to come: what is there is anybody's guess, when sizes change quickly up and down.
	for _, v := range p.all() {
		if v.stale() {
			return fmt.Sprintf("the ReplicaSet controller has not seen the last change of %s yet", v.Name)
		}
	}
	return ""
}

// certain is how many pods are known to serve and to stay: none while the ReplicaSet controller has not acted on the last change of their
// number, since what it counted may be on its way out.
func (v *version) certain() int32 {
	if v == nil || v.stale() {
		return 0
	}
	return v.fleet().serving()
}

// ideal is how many pods each version should end up with at the current step, and why.
func (p *pass) ideal(c spec.Canary) (counts, string) {
	if p.stableBeside() == nil {
		return p.countsWithSurge(counts{canary: p.spec.Replicas}), fmt.Sprintf("the only version takes all %d", p.spec.Replicas)
	}
	weight := p.weight(c)
	ideal := idealCounts(p.spec.Replicas, weight, c.MaxWeight, c.MaxSurge)
	return p.countsForServices(c, p.countsWithSurge(ideal)), fmt.Sprintf("%s of %d is %d", portionText(weight, c.MaxWeight), p.spec.Replicas, ideal.canary)
}

// stableBeside is the stable version where it is another than the new one.
func (p *pass) stableBeside() *version {
	if p.stable == p.new {
		return nil
	}
	return p.stable
}

// weight is the canary's share at the current step: the last setWeight at or before it.
func (p *pass) weight(c spec.Canary) int32 {
	switch {
	case p.is.PromoteFull:
		return c.MaxWeight
	case p.is.Abort:
		return 0
	case p.at() == p.stepCount():
		return c.MaxWeight
	}
	for i := p.at(); i >= 0; i-- {
		if s, ok := c.Steps[i].(spec.SetWeight); ok {
			return s.Weight
		}
	}
	return 0
}

// reached reports whether the pods are as the current step wants them, or else what is missing.
func (p *pass) reached(c spec.Canary) (bool, string) {
	if why := p.unseenSize(); why != "" {
		return false, why
	}
	if p.routing != nil {
		return p.routing.reached()
	}
	return p.basicReached(c)
}

func (p *pass) basicReached(c spec.Canary) (bool, string) {
	ideal, _ := p.ideal(c)
	canary := p.new.fleet()
	if !c.Threshold.Met(canary.available, ideal.canary) {
		return false, fmt.Sprintf("%d of %d canary pods available", canary.available, ideal.canary)
	}
	if canary.desired != ideal.canary || canary.available > ideal.canary {
		return false, fmt.Sprintf("the canary is on its way from %d to %d pods", canary.actual, ideal.canary)
	}
	if stable := p.stableBeside().fleet(); p.stableBeside() != nil && (stable.desired != ideal.stable || stable.actual != ideal.stable) {
		return false, fmt.Sprintf("the stable version is on its way from %d to %d pods", stable.actual, ideal.stable)
	}
	for i := range p.others {
		if n := p.others[i].Status.AvailableReplicas; n > 0 {
			return false, fmt.Sprintf("%s still has %s", p.others[i].Name, pods(n))
		}
	}
	return true, ""
}

// canaryWithoutNew has the Services of a canary send to versions that there are while the new one cannot be created: the stable Service to the
// stable version, and the canary Service to that too where somebody's edit has it at none.
func (p *pass) canaryWithoutNew(c spec.Canary) {
	p.checkServices()
	if c.Traffic != nil {
		r := newRouting(p, c)
		r.withoutNew()
		return
	}
	p.basicWithoutNew(c)
}

func (p *pass) basicWithoutNew(c spec.Canary) {
	if len(p.problems) == 0 {
		p.pointAvailable(c.StableService.Name, p.stable, "it is the stable version")
		p.pointBack(c.CanaryService.Name)
	}
	if p.stable != nil && p.mayNotScale() == "" {
		l := limits{replicas: p.spec.Replicas, maxSurge: c.MaxSurge, maxUnavailable: c.MaxUnavailable}
		p.scale(p.stable, basicCounts(l, counts{stable: p.spec.Replicas}, fleet{}, p.stable.fleet(), p.otherFleets()).stable, withoutNew)
	}
}
