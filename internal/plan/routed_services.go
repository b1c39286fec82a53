package plan

import (
	"fmt"
	"slices"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// pointServices points both Services at their versions, each when that takes traffic from nobody who cannot be replaced: while its
// weight is nothing, or to pods that can carry it.
func (r *routing) pointServices() {
	if r.stable != nil {
		r.pointStable()
	}
	r.pointCanary()
}

// pointStable has the stable Service follow the stable version.
func (r *routing) pointStable() {
	name, v := r.stableService.Name, r.stable
	if r.selects(name) == v.hash {
		r.point(name, v.hash, "it selects the stable version")
		return
	}
	have, needed := v.fleet().serving(), r.neededBehindStable()
	if have < needed || v.stale() {
		r.Note(change.TopicWait, fmt.Sprintf("service %s to select the stable version", name), fmt.Sprintf("%d of %d pods available", have, needed))
		return
	}
	r.point(name, v.hash, "it is the stable version")
}

// neededBehindStable is how many pods the stable version needs before the stable Service selects it.
func (r *routing) neededBehindStable() int32 {
	name, v, least := r.stableService.Name, r.stable, min(1, r.replicas())
	needed := max(least, r.room().enough(r.carriedByStable(v)))
	from := r.find(r.selects(name))
	switch {
	case from != nil && r.promoted() && r.EnforceMaxSurge: // the two share the room, and neither can have enough
		return max(least, min(needed, from.fleet().serving()))
	case !r.owned(name): // it selects pods of all versions so far, and of none but these then
		return max(least, v.desired())
	}
	return needed
}

// awaitsStable reports whether the stable Service sends to a version still that is no part of any update, since the stable one has too few pods.
func (r *routing) awaitsStable(v *version) bool {
	return r.promoted() && r.stable != nil && r.selects(r.stableService.Name) == v.hash && r.stable.fleet().serving() < r.neededBehindStable()
}

// carriedByStable is the weight that a version will carry once the stable Service selects it: all, as long as nobody knows what is in force.
func (r *routing) carriedByStable(v *version) int32 {
	switch weight := r.canary.MaxWeight - r.now; {
	case r.inForce && weight == 0:
		return 0
	case r.inForce && r.carrier() != v:
		return weight
	}
	return r.canary.MaxWeight
}

// pointCanary has the canary Service follow the new version while there is an update, and the stable one otherwise.
func (r *routing) pointCanary() {
	name, v, why := r.canaryService.Name, r.new, "it is the new version"
	if r.promoted() || r.is.Abort && !r.alone() {
		v, why = r.stable, "there is no update"
	}
	if v == nil {
		return
	}
	if r.selects(name) == v.hash {
		r.point(name, v.hash, why)
		return
	}
	carries := r.now > 0 && (r.carrier() != nil || !r.inForce)
	if carries && (v != r.new || !r.standsIn()) {
		r.Note(change.TopicWait, fmt.Sprintf("service %s to select %s", name, v.Name), fmt.Sprintf("it carries %s of the traffic", r.portionText(r.now)))
		return
	}
	if have, needed := v.fleet().serving(), r.neededBehind(name, v); have < needed {
		r.Note(change.TopicWait, fmt.Sprintf("service %s to select %s", name, v.Name), fmt.Sprintf("%d of %d pods available", have, needed))
		r.leaveOvertaken(name)
		return
	}
	r.point(name, v.hash, why)
}

// standsIn reports whether the new version can take over from one that was overtaken, there being no stable one to do so, or none that
// has a pod. One that somebody has aborted does so only where nobody serves any more.
func (r *routing) standsIn() bool {
	if r.abandoned() {
		return false
	}
	return (r.alone() || r.stableIsDown()) && r.new.certain() >= max(min(1, r.replicas()), r.room().enough(r.mayCarry()))
}

// abandoned reports whether an update was aborted that cannot go back to the stable version, which is gone, while the version that it was to
// overtake still serves: then that does so for as long as somebody tries again, or something else.
func (r *routing) abandoned() bool {
	c := r.carrier()
	return r.is.Abort && r.stable == nil && c != r.new && c.fleet().serving() > 0
}

// neededBehind is how many pods a version needs before a Service without weight selects it: whoever asks the Service by its name is to
// be answered.
func (r *routing) neededBehind(name string, v *version) int32 {
	switch {
	case r.replicas() == 0:
		return 0
	case r.mayCarry() == 0 && (r.is.Abort || r.canary.PingPong && r.owned(name)): // nobody sends to it
		return 0
	case !r.owned(name):
		return max(1, v.desired())
	}
	return 1
}

// leaveOvertaken lends a Service to the stable version for as long as the new one has no pods, so that what was overtaken can go: one
// that selects it, or that tells no versions apart.
func (r *routing) leaveOvertaken(name string) {
	overtaken := slices.ContainsFunc(r.others, func(v version) bool { return v.desired() > 0 })
	if !overtaken || r.carrier() == r.stable || r.stable.fleet().serving() < max(1, r.neededBehind(name, r.stable)) {
		return
	}
	r.point(name, r.stable.hash, "the new version is not available yet, and another has overtaken the one before")
}

// owned reports whether a Service is marked as this Rollout's.
func (p *pass) owned(name string) bool {
	s := p.service(name)
	return s != nil && s.Annotations[v1alpha1.ManagedByAnnotation] == p.Rollout.Name
}

// takeTurns makes the Service that carries everything now the stable one, where two take turns.
func (p *pass) takeTurns() {
	c, ok := p.spec.Strategy.(spec.Canary)
	if !ok || !c.PingPong {
		return
	}
	if p.is.Canary.StablePingPong == v1alpha1.Ping {
		p.is.Canary.StablePingPong = v1alpha1.Pong
	} else {
		p.is.Canary.StablePingPong = v1alpha1.Ping
	}
}

// withoutNew has both Services send to versions that there are while the new one cannot be created, and gives the stable one its pods.
func (r *routing) withoutNew() {
	if len(r.problems) == 0 {
		r.see()
		if r.stable != nil {
			r.pointStable()
		}
		r.pointBack(r.canaryService.Name)
	}
	if r.stable != nil && r.mayNotScale() == "" { // never fewer: another version may still carry traffic
		r.scale(r.stable, max(r.stable.desired(), roomFor(r.stable.desired(), r.replicas(), r.free())), withoutNew)
	}
}
