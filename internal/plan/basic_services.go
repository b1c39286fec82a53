package plan

import (
	"slices"

	"github.com/sluice-delivery/sluice/internal/spec"
)

// pointBasic has the Services of a canary without a router follow their versions. People reach one version by them, and nobody knows
// how many: so each is pointed elsewhere only when somebody answers there.
func (p *pass) pointBasic(c spec.Canary) {
	canary, why := p.new, "it is the version to try"
	if p.promoted() || p.is.Abort {
		canary = p.stable
	}
	if only := p.onlyRoom(c); only != nil {
		canary, why = only, "there is no room for pods of another version"
	}
	p.pointAvailable(c.CanaryService.Name, canary, why)
	stable := p.stable
	if p.takesOver(c) {
		stable = p.new
	}
	p.pointAvailable(c.StableService.Name, stable, "it is the stable version")
}

// takesOver reports whether the new version is about to be the only one, and can answer for the stable one already. The stable
// Service is moved then, before the last stable pod goes and not after it.
//
// Where somebody has deleted the stable version the Service may still send to one that was overtaken. That is followed as soon as the new
// version can answer, whatever its step says: it has all pods.
func (p *pass) takesOver(c spec.Canary) bool {
	stable, gone := p.stableBeside(), p.stable == nil && !p.promoted()
	if gone {
		stable = p.find(p.selects(c.StableService.Name))
	}
	if stable == nil || p.is.Abort || !gone && p.weight(c) < c.MaxWeight && p.onlyRoom(c) != p.new {
		return false
	}
	if p.selects(c.StableService.Name) == p.is.CurrentPodHash { // it has been moved; one pod that fails is no reason to go back
		return p.new.fleet().serving() >= 1
	}
	return p.mayNotScale() == "" && p.new.fleet().serving() >= max(1, stable.fleet().serving())
}

// onlyRoom is the version that keeps its pods where there is room for one pod, and both versions have some: a greater spec.replicas, a
// greater maxSurge or a router has left them. It is nil anywhere else. Both Services are to select that version, since the other one's
// pod does not go while one selects it.
func (p *pass) onlyRoom(c spec.Canary) *version {
	stable := p.stableBeside()
	if p.spec.Replicas != 1 || c.MaxSurge > 0 || p.spec.Paused && !p.is.Abort || p.new.desired() == 0 || stable.desired() == 0 {
		return nil
	}
	if idealCounts(p.spec.Replicas, p.weight(c), c.MaxWeight, c.MaxSurge).canary > 0 {
		return p.new
	}
	return stable
}

// countsForServices leaves a pod to a version that is to have none, for as long as a Service selects it: whoever asks that is to be
// answered. The other version goes without it, where there is no room for one more. Where there is room for one pod only, the Service
// moves instead (onlyRoom).
func (p *pass) countsForServices(c spec.Canary, n counts) counts {
	most := p.spec.Replicas + c.MaxSurge
	switch {
	case most < 2:
	case n.canary == 0 && p.answers(c, p.new):
		return counts{canary: 1, stable: min(n.stable, most-1)}
	case n.stable == 0 && p.answers(c, p.stable):
		return counts{canary: min(n.canary, most-1), stable: 1}
	}
	return n
}

// answers reports whether a version keeps a pod since one of the Services selects it, if another version has pods, or will have, that
// can answer instead. Where there is no room for any the limits leave no choice, and at 0 replicas nobody is to answer.
func (p *pass) answers(c spec.Canary, v *version) bool {
	services := serviceNames(c)
	if v.desired() == 0 || len(services) == 0 || p.spec.Replicas == 0 || p.onlyVersion(v) {
		return false
	}
	if p.answeredBeside(v) { // a Service that tells no versions apart needs none in particular
		services = slices.DeleteFunc(services, func(name string) bool { return p.selects(name) == "" && p.observedSelects(name) == "" })
	}
	return p.referenced(v.hash, services)
}

// keptForService is how many pods a version may be scaled to: not to none while one of the Services sends to it.
func (p *pass) keptForService(c spec.Canary, v *version, to int32) int32 {
	switch services := serviceNames(c); {
	case to > 0 || v.desired() == 0 || len(services) == 0:
		return to
	case p.answers(c, v):
		return 1
	case !p.referenced(v.hash, services) && !p.unreferenced(v.hash, services): // it needs to be known for certain
		return v.desired()
	}
	return to
}

// answeredBeside reports whether another version has pods that answer, and stay.
func (p *pass) answeredBeside(v *version) bool {
	for _, other := range p.all() {
		if other != v && other.certain() > 0 {
			return true
		}
	}
	return false
}

// onlyVersion reports whether no other version has pods, or will have any before this one's are gone.
func (p *pass) onlyVersion(v *version) bool {
	for _, other := range p.all() {
		if other != v && other.desired() > 0 {
			return false
		}
	}
	return true
}

// serviceNames are the Services of a canary that there are.
func serviceNames(c spec.Canary) []string {
	var names []string
	for _, s := range []spec.Reference{c.CanaryService, c.StableService} {
		if s.Name != "" {
			names = append(names, s.Name)
		}
	}
	return names
}
