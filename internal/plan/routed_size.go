package plan

import (
	"fmt"
	"slices"

	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// size gives the versions that serve, or are about to, their pods.
func (r *routing) size() {
	stable := r.stableBeside()
	if r.abandoned() {
		if r.create != nil {
			r.scaleNew(0, "the update was aborted")
		}
		return
	}
	if stable == nil {
		to := roomFor(r.new.desired(), r.withSurge(r.new, r.replicas()), r.free()) // others may still have pods
		r.resize(r.new, to, fmt.Sprintf("the only version takes all %d", r.replicas()))
		if r.create != nil { // the stable version's own ReplicaSet is gone
			r.scaleNew(to, "the only version takes all")
		}
		r.giveRoom(r.new, r.replicas())
		r.shrinkCarrier()
		return
	}
	r.keep(stable) // a deadline that it has is of the strategy before this one
	free, aim := r.free(), r.aim()
	wanted, why := r.stableSize(aim)
	to := roomFor(stable.desired(), r.withSurge(stable, wanted), free)
	free -= max(0, to-stable.desired())
	r.resize(stable, to, why)
	r.giveRoom(stable, wanted)

	switch {
	case r.is.Abort:
		r.sizeAborted()
	default:
		_, why := r.canarySize(r.weight(r.canary))
		if n := r.inherited(); n > aim {
			aim, why = n, "it takes over what "+r.carrier().Name+" carries"
		}
		to := roomFor(r.new.desired(), r.withSurge(r.new, aim), free)
		if r.create != nil {
			r.scaleNew(to, why)
			break
		}
		r.resize(r.new, max(to, min(r.carried(r.new), r.new.desired())), why)
	}
	r.shrinkCarrier()
}

// giveRoom takes pods of versions away that are part of no update where one that is to have so many has no room beside them, and Services
// send to them still: as many as leave the minimum available. One that the stable Service selects in particular shares the room until it is
// outnumbered; one that only the canary Service selects keeps its pods until that has left it.
func (r *routing) giveRoom(to *version, wanted int32) {
	if !r.EnforceMaxSurge || r.free() > 0 || to.desired() >= wanted {
		return
	}
	const why = "another version has no room beside it"
	shared := slices.ContainsFunc(serviceNames(r.canary), func(name string) bool { return r.selects(name) == "" })
	serving := to.fleet().serving()
	var fleets []fleet
	for _, v := range r.others {
		serving += v.fleet().serving()
		fleets = append(fleets, v.fleet())
	}
	limits := limits{replicas: r.replicas(), maxSurge: r.canary.MaxSurge, maxUnavailable: r.canary.MaxUnavailable}
	for i, n := range oldCounts(limits, serving, fleets) {
		v := &r.others[i]
		selected := slices.ContainsFunc(serviceNames(r.canary), func(name string) bool {
			return r.selects(name) == v.hash || r.observedSelects(name) == v.hash
		})
		if r.awaitsStable(v) {
			r.resize(v, min(v.desired(), max(n, 1)), why)
		}
		if shared && !selected && n < v.desired() {
			r.resize(v, n, why)
		}
	}
}

// canarySize is how many pods the new version should have at a weight, as the current step has it (behaviour.md A6.4).
func (r *routing) canarySize(weight int32) (int32, string) {
	if s, ok := r.canaryScale(); ok {
		switch {
		case s.Percent != nil:
			return r.room().atLeast(share(*s.Percent, r.replicas(), r.canary.MaxWeight)), s.String()
		case r.DynamicStableScale:
			return r.room().atLeast(*s.Replicas), s.String()
		}
		return *s.Replicas, s.String()
	}
	n := r.room().sized(weight)
	return n, fmt.Sprintf("%s of %d is %d", r.portionText(weight), r.replicas(), n)
}

// canaryScale is the setCanaryScale step that is in force, if one is.
func (r *routing) canaryScale() (spec.SetCanaryScale, bool) {
	if r.at() == r.stepCount() || r.is.PromoteFull || r.is.Abort {
		return spec.SetCanaryScale{}, false
	}
	for i := r.at(); i >= 0; i-- {
		if s, ok := r.canary.Steps[i].(spec.SetCanaryScale); ok {
			return s, s.Replicas != nil || s.Percent != nil
		}
	}
	return spec.SetCanaryScale{}, false
}

// carried is how many pods a version other than the stable one keeps for the weight that is in force.
func (r *routing) carried(v *version) int32 {
	if v == nil {
		return 0
	}
	weight := int32(0)
	if r.carrier() == v {
		weight = r.now
	}
	if r.observedSelects(r.stableService.Name) == v.hash { // by hand, or by the strategy before this one
		weight = r.canary.MaxWeight - r.now + weight
	} else if _, explicit := r.canaryScale(); explicit && v == r.new && weight <= r.goal() {
		return min(weight, 1, r.replicas()) // the user said how many, whatever the weight is to be; but not none
	}
	if r.alone() {
		return r.room().keeps(weight, r.new.desired(), r.replicas())
	}
	return r.room().keeps(weight, r.stable.desired(), r.room().sized(r.canary.MaxWeight-r.goal()))
}

// inherited is how many pods the new version gets to take the part over of one that it has overtaken, where the stable version has
// no pod that could.
func (r *routing) inherited() int32 {
	if c := r.carrier(); c == nil || c == r.new || !r.stableIsDown() {
		return 0
	}
	return share(r.mayCarry(), r.replicas(), r.canary.MaxWeight)
}

// stableIsDown reports whether the stable version has no available pod, though it should have.
func (r *routing) stableIsDown() bool {
	return r.replicas() > 0 && r.stable.fleet().available == 0
}

// stableSize is how many pods the stable version should have: all, or with dynamicStableScale as many as its traffic needs now and
// will need next, and one at least while its Service sends to it, since proxies answer with errors for a Service without endpoints.
func (r *routing) stableSize(aim int32) (int32, string) {
	if !r.DynamicStableScale {
		return r.replicas(), "the stable version keeps all its pods"
	}
	weight := r.canary.MaxWeight - min(r.now, r.goal())
	n := max(r.room().keeps(weight, r.new.desired(), aim), min(1, r.replicas()))
	return n, fmt.Sprintf("%s of %d is %d", r.portionText(weight), r.replicas(), n)
}

// sizeAborted lets the new version shrink with its traffic where the stable one had to grow for that. Otherwise it keeps its pods
// until its time is up.
func (r *routing) sizeAborted() {
	if r.create != nil {
		r.scaleNew(0, "the update was aborted")
		return
	}
	if r.DynamicStableScale && !r.AbortDelaySet {
		r.resize(r.new, min(r.new.desired(), r.carried(r.new)), "the update was aborted, and its traffic goes back")
	}
}

// shrinkCarrier lets a version that has been overtaken shrink with its traffic, where pods are scarce.
func (r *routing) shrinkCarrier() {
	c := r.carrier()
	if c == nil || c == r.new || c == r.stable || !r.DynamicStableScale || r.promoted() && r.observedSelects(r.stableService.Name) == c.hash {
		return // the last: it is all there is, by both Services
	}
	r.resize(c, min(c.desired(), max(r.carried(c), 1)), "its traffic goes to the stable version")
}

// resize changes a version's pods. To fewer only by what is certain of the routing: what every router was seen to carry out, read from
// the API server and not from a cache.
func (r *routing) resize(v *version, to int32, why string) {
	if v == nil {
		return
	}
	if to < v.desired() && !r.mayShrink(v, to) {
		return
	}
	r.scale(v, to, why)
}

// mayShrink reports whether a version can do with fewer pods: as far as anybody can see now, what they carry is carried by others.
func (r *routing) mayShrink(v *version, to int32) bool {
	switch {
	case to >= r.replicas(): // as many as all the traffic needs
		return true
	case to == 0 && r.serves(v):
		return false
	case !r.inForce:
		r.Note(change.TopicWait, v.Name+" keeps its pods", "the routers have not been seen to send as they should")
		return false
	case !r.ServicesLive || !r.RoutesLive:
		r.Need(change.NeedLiveRouting{})
		return false
	}
	return true
}

// serves reports whether requests may reach a version, by weight or because a Service is still to be pointed elsewhere.
func (r *routing) serves(v *version) bool {
	leaving := r.is.Abort && r.observedSelects(r.canaryService.Name) == v.hash
	return r.carrier() == v && r.now > 0 || r.observedSelects(r.stableService.Name) == v.hash || leaving
}

// retire takes the pods away of versions that nothing sends to any more, after their delays.
func (r *routing) retire() {
	services := r.withUnnamed(r.stableService.Name, r.canaryService.Name)
	stable := r.stableBeside()
	if r.is.Abort && !r.AbortScaleDown {
		r.keep(r.new) // where it had a delay, 0 ends that, and the pods stay
	}
	if r.is.Abort && r.AbortScaleDown && r.new != nil && stable.fleet().serving() >= r.replicas() && (!r.DynamicStableScale || r.AbortDelaySet) {
		r.pass.retire(r.new, r.afterAbort(r.AbortScaleDownDelay), retirement{size: r.new.desired(), reason: "the update was aborted", services: services})
	}
	r.retireOthers(r.ScaleDownDelay, r.ScaleDownDelayRevisionLimit, retirement{reason: "neither the new nor the stable version", services: services})
}

// aim is how many pods the new version comes to at the current step. What the step asks for beyond the limit nobody can have, and the only
// version there is has all, whatever its step says.
func (r *routing) aim() int32 {
	if r.alone() {
		return r.replicas()
	}
	weight := r.weight(r.canary)
	n, _ := r.canarySize(weight)
	if !r.DynamicStableScale {
		return n
	}
	return r.room().beside(r.canary.MaxWeight-weight, n)
}

// room is what the spec leaves to both sides.
func (r *routing) room() room { return roomOf(r.replicas(), r.canary) }

// free is how many pods may be added to those there are.
func (r *routing) free() int32 { return r.freeWithin(r.room()) }
