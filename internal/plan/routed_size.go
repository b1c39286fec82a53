package plan

import (
	"fmt"
	"slices"

	"github.com/sluice-delivery/sluice/internal/spec"
)

// size gives the versions that serve, or are about to, their pods.
func (r *routing) size() {
	stable := r.stableBeside()
	if stable == nil {
		to := roomFor(r.new, r.withSurge(r.new, r.replicas()), r.free()) // others may still have pods
		r.resize(r.new, to, fmt.Sprintf("the only version takes all %d", r.replicas()))
		if r.create != nil { // the stable version's own ReplicaSet is gone
			r.scaleNew(to, "the only version takes all")
		}
		r.shrinkCarrier()
		return
	}
	free := r.free()
	to, why := r.stableSize()
	to = roomFor(stable, r.withSurge(stable, to), free)
	free -= max(0, to-stable.desired())
	r.resize(stable, to, why)

	switch {
	case r.is.Abort:
		r.sizeAborted()
	default:
		to, why := r.canarySize(r.weight(r.canary))
		to = roomFor(r.new, r.withSurge(r.new, to), free)
		if r.create != nil {
			r.scaleNew(to, why)
			break
		}
		r.resize(r.new, max(to, min(r.carried(r.new), r.new.desired())), why)
	}
	r.shrinkCarrier()
}

// roomFor is as much of a size as can be had where so many pods may be added.
func roomFor(v *version, to, free int32) int32 {
	return min(to, v.desired()+min(free, noLimit-v.desired()))
}

// free is how many pods may be added to those there are.
func (r *routing) free() int32 {
	if !r.EnforceMaxSurge {
		return noLimit
	}
	n := r.most()
	for _, v := range r.all() {
		n -= v.fleet().occupies()
	}
	return max(0, n)
}

// most is how many pods there may be where they are limited. A single one gets a second all the same: the other way to replace it would
// be to have none for a while.
func (r *routing) most() int32 {
	return max(r.replicas()+r.canary.MaxSurge, 2*min(r.replicas(), 1))
}

// cramped reports whether a version that is to grow has no room to, with one side's pods wanted and the other's given. The side that
// loses traffic then gives as many pods up early as maxUnavailable lets be missing.
func (r *routing) cramped(wanted, given int32) bool {
	return r.EnforceMaxSurge && wanted+given >= r.most()
}

// full reports whether there is no room for any more pods of the new version, nor will be: the stable one has given up all that it can at
// this step. What the step asks for beyond that nobody can have.
func (r *routing) full() bool {
	stable := r.stableBeside()
	if !r.EnforceMaxSurge || stable == nil || r.new == nil || r.now != r.weight(r.canary) || r.free() > 0 || slices.ContainsFunc(r.others, func(v version) bool { return v.fleet().occupies() > 0 }) {
		return false
	}
	least, _ := r.stableSize()
	s := stable.fleet()
	return s.desired <= least && s.actual <= s.desired
}

const noLimit = 1 << 30

// canarySize is how many pods the new version should have at a weight, as the current step has it (behaviour.md A6.4).
func (r *routing) canarySize(weight int32) (int32, string) {
	if s, ok := r.canaryScale(); ok {
		switch {
		case s.Percent != nil:
			return r.atLeast(share(*s.Percent, r.replicas(), r.canary.MaxWeight)), s.String()
		case r.DynamicStableScale:
			return r.atLeast(*s.Replicas), s.String()
		}
		return *s.Replicas, s.String()
	}
	n := r.atLeast(share(weight, r.replicas(), r.canary.MaxWeight))
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

// atLeast raises a number of pods to the least that the spec wants a version to have that has any.
func (r *routing) atLeast(n int32) int32 {
	if n == 0 {
		return 0
	}
	return max(n, r.MinPods)
}

// carried is how many pods a version needs for the weight that is in force.
func (r *routing) carried(v *version) int32 {
	if v == nil || r.carrier() != v {
		return 0
	}
	if _, explicit := r.canaryScale(); explicit && v == r.new {
		return min(r.now, 1) // the user said how many, whatever the weight; but not none
	}
	n := share(r.now, r.replicas(), r.canary.MaxWeight)
	if losing := r.is.Abort || v != r.new; losing && n > 0 && r.stable.desired() < r.replicas() && r.cramped(n, r.stable.desired()) {
		return max(tightShare(r.now, r.replicas(), r.canary.MaxWeight)-r.canary.MaxUnavailable, 1)
	}
	return r.atLeast(n)
}

// stableSize is how many pods the stable version should have: all, or with dynamicStableScale as many as its traffic needs now and
// will need next, and one at least while its Service sends to it, since proxies answer with errors for a Service without endpoints.
func (r *routing) stableSize() (int32, string) {
	if !r.DynamicStableScale {
		return r.replicas(), "the stable version keeps all its pods"
	}
	least := min(r.now, r.goal())
	n := share(r.canary.MaxWeight-least, r.replicas(), r.canary.MaxWeight)
	if r.waitsForRoom() && r.cramped(n, r.new.desired()) {
		n = tightShare(r.canary.MaxWeight-least, r.replicas(), r.canary.MaxWeight) - r.canary.MaxUnavailable
	}
	n = max(r.atLeast(max(n, 0)), min(1, r.replicas()))
	return n, fmt.Sprintf("%s of %d is %d", r.portionText(r.canary.MaxWeight-least), r.replicas(), n)
}

// waitsForRoom reports whether the new version is to have more pods than it has been given.
func (r *routing) waitsForRoom() bool {
	if r.is.Abort || r.promoted() {
		return false
	}
	to, _ := r.canarySize(r.weight(r.canary))
	return to > r.new.desired()
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
	if c == nil || c == r.new || c == r.stable || !r.DynamicStableScale {
		return
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
		r.note(TopicWait, v.Name+" keeps its pods", "the routers have not been seen to send as they should")
		return false
	case !r.RoutingLive:
		r.need(NeedLiveRouting{})
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
	if r.is.Abort && r.AbortScaleDown && r.new != nil && stable.fleet().serving() >= r.replicas() && (!r.DynamicStableScale || r.AbortDelaySet) {
		r.pass.retire(r.new, r.AbortScaleDownDelay, retirement{size: r.new.desired(), reason: "the update was aborted", services: services})
	}
	r.retireOthers(r.ScaleDownDelay, r.ScaleDownDelayRevisionLimit, retirement{reason: "neither the new nor the stable version", services: services})
}
