package routed

import (
	"fmt"
	"slices"

	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/capacity"
	"github.com/sluice-delivery/sluice/internal/plan/draft"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// size gives the versions that serve, or are about to, their pods.
func (r *Canary) size() {
	stable := r.world.StableBeside()
	if r.abandoned() {
		if r.draft.Create != nil {
			r.draft.ScaleNew(0, "the update was aborted")
		}
		return
	}
	if stable == nil {
		to := capacity.RoomFor(r.world.New.Desired(), r.restart.WithSurge(r.world.New, r.replicas()), r.free()) // others may still have pods
		r.resize(r.world.New, to, fmt.Sprintf("the only version takes all %d", r.replicas()))
		if r.draft.Create != nil { // the stable version's own ReplicaSet is gone
			r.draft.ScaleNew(to, "the only version takes all")
		}
		r.giveRoom(r.world.New, r.replicas())
		r.shrinkCarrier()
		return
	}
	r.draft.Keep(stable) // a deadline that it has is of the strategy before this one
	free, aim := r.free(), r.aim()
	wanted, why := r.stableSize(aim)
	to := capacity.RoomFor(stable.Desired(), r.restart.WithSurge(stable, wanted), free)
	free -= max(0, to-stable.Desired())
	r.resize(stable, to, why)
	r.giveRoom(stable, wanted)

	switch {
	case r.update.Is.Abort:
		r.sizeAborted()
	default:
		_, why := r.canarySize(r.update.Weight(r.canary))
		if n := r.inherited(); n > aim {
			aim, why = n, "it takes over what "+r.carrier().Name+" carries"
		}
		to := capacity.RoomFor(r.world.New.Desired(), r.restart.WithSurge(r.world.New, aim), free)
		if r.draft.Create != nil {
			r.draft.ScaleNew(to, why)
			break
		}
		r.resize(r.world.New, max(to, min(r.carried(r.world.New), r.world.New.Desired())), why)
	}
	r.shrinkCarrier()
}

// giveRoom takes pods of versions away that are part of no update where one that is to have so many has no room beside them, and Services
// send to them still: as many as leave the minimum available. One that the stable Service selects in particular shares the room until it is
// outnumbered; one that only the canary Service selects keeps its pods until that has left it.
func (r *Canary) giveRoom(to *world.Version, wanted int32) {
	if !r.EnforceMaxSurge || r.free() > 0 || to.Desired() >= wanted {
		return
	}
	const why = "another version has no room beside it"
	shared := slices.ContainsFunc(world.ServiceNames(r.canary), func(name string) bool { return r.draft.Selects(name) == "" })
	serving := to.Fleet().Serving()
	var fleets []capacity.Fleet
	for _, v := range r.world.Others {
		serving += v.Fleet().Serving()
		fleets = append(fleets, v.Fleet())
	}
	limits := capacity.Limits{Replicas: r.replicas(), MaxSurge: r.canary.MaxSurge, MaxUnavailable: r.canary.MaxUnavailable}
	for i, n := range capacity.OldCounts(limits, serving, fleets) {
		v := &r.world.Others[i]
		selected := slices.ContainsFunc(world.ServiceNames(r.canary), func(name string) bool {
			return r.draft.Selects(name) == v.Hash || r.world.ObservedSelects(name) == v.Hash
		})
		if r.awaitsStable(v) {
			r.resize(v, min(v.Desired(), max(n, 1)), why)
		}
		if shared && !selected && n < v.Desired() {
			r.resize(v, n, why)
		}
	}
}

// canarySize is how many pods the new version should have at a weight, as the current step has it (behaviour.md A6.4).
func (r *Canary) canarySize(weight int32) (int32, string) {
	if s, ok := r.canaryScale(); ok {
		switch {
		case s.Percent != nil:
			return r.room().AtLeast(capacity.Share(*s.Percent, r.replicas(), r.canary.MaxWeight)), s.String()
		case r.DynamicStableScale:
			return r.room().AtLeast(*s.Replicas), s.String()
		}
		return *s.Replicas, s.String()
	}
	n := r.room().Sized(weight)
	return n, fmt.Sprintf("%s of %d is %d", r.portionText(weight), r.replicas(), n)
}

// canaryScale is the setCanaryScale step that is in force, if one is.
func (r *Canary) canaryScale() (spec.SetCanaryScale, bool) {
	if r.update.At() == r.world.StepCount() || r.update.Is.PromoteFull || r.update.Is.Abort {
		return spec.SetCanaryScale{}, false
	}
	for i := r.update.At(); i >= 0; i-- {
		if s, ok := r.canary.Steps[i].(spec.SetCanaryScale); ok {
			return s, s.Replicas != nil || s.Percent != nil
		}
	}
	return spec.SetCanaryScale{}, false
}

// carried is how many pods a version other than the stable one keeps for the weight that is in force.
func (r *Canary) carried(v *world.Version) int32 {
	if v == nil {
		return 0
	}
	weight := int32(0)
	if r.carrier() == v {
		weight = r.now
	}
	if r.world.ObservedSelects(r.stableService.Name) == v.Hash { // by hand, or by the strategy before this one
		weight = r.canary.MaxWeight - r.now + weight
	} else if _, explicit := r.canaryScale(); explicit && v == r.world.New && weight <= r.goal() {
		return min(weight, 1, r.replicas()) // the user said how many, whatever the weight is to be; but not none
	}
	if r.alone() {
		return r.room().Keeps(weight, r.world.New.Desired(), r.replicas())
	}
	return r.room().Keeps(weight, r.world.Stable.Desired(), r.room().Sized(r.canary.MaxWeight-r.goal()))
}

// inherited is how many pods the new version gets to take the part over of one that it has overtaken, where the stable version has
// no pod that could.
func (r *Canary) inherited() int32 {
	if c := r.carrier(); c == nil || c == r.world.New || !r.stableIsDown() {
		return 0
	}
	return capacity.Share(r.mayCarry(), r.replicas(), r.canary.MaxWeight)
}

// stableIsDown reports whether the stable version has no available pod, though it should have.
func (r *Canary) stableIsDown() bool {
	return r.replicas() > 0 && r.world.Stable.Fleet().Available == 0
}

// stableSize is how many pods the stable version should have: all, or with dynamicStableScale as many as its traffic needs now and
// will need next, and one at least while its Service sends to it, since proxies answer with errors for a Service without endpoints.
func (r *Canary) stableSize(aim int32) (int32, string) {
	if !r.DynamicStableScale {
		return r.replicas(), "the stable version keeps all its pods"
	}
	weight := r.canary.MaxWeight - min(r.now, r.goal())
	n := max(r.room().Keeps(weight, r.world.New.Desired(), aim), min(1, r.replicas()))
	return n, fmt.Sprintf("%s of %d is %d", r.portionText(weight), r.replicas(), n)
}

// sizeAborted lets the new version shrink with its traffic where the stable one had to grow for that. Otherwise it keeps its pods
// until its time is up.
func (r *Canary) sizeAborted() {
	if r.draft.Create != nil {
		r.draft.ScaleNew(0, "the update was aborted")
		return
	}
	if r.DynamicStableScale && !r.AbortDelaySet {
		r.resize(r.world.New, min(r.world.New.Desired(), r.carried(r.world.New)), "the update was aborted, and its traffic goes back")
	}
}

// shrinkCarrier lets a version that has been overtaken shrink with its traffic, where pods are scarce.
func (r *Canary) shrinkCarrier() {
	c := r.carrier()
	if c == nil || c == r.world.New || c == r.world.Stable || !r.DynamicStableScale || r.update.Promoted() && r.world.ObservedSelects(r.stableService.Name) == c.Hash {
		return // the last: it is all there is, by both Services
	}
	r.resize(c, min(c.Desired(), max(r.carried(c), 1)), "its traffic goes to the stable version")
}

// resize changes a version's pods. To fewer only by what is certain of the routing: what every router was seen to carry out, read from
// the API server and not from a cache.
func (r *Canary) resize(v *world.Version, to int32, why string) {
	if v == nil {
		return
	}
	if to < v.Desired() && !r.mayShrink(v, to) {
		return
	}
	r.draft.Scale(v, to, why)
}

// mayShrink reports whether a version can do with fewer pods: as far as anybody can see now, what they carry is carried by others.
func (r *Canary) mayShrink(v *world.Version, to int32) bool {
	switch {
	case to >= r.replicas(): // as many as all the traffic needs
		return true
	case to == 0 && r.serves(v):
		return false
	case !r.inForce:
		r.journal.Note(change.TopicWait, v.Name+" keeps its pods", "the routers have not been seen to send as they should")
		return false
	case !r.world.ServicesLive || !r.world.RoutesLive:
		r.journal.Need(change.NeedLiveRouting{})
		return false
	}
	return true
}

// serves reports whether requests may reach a version, by weight or because a Service is still to be pointed elsewhere.
func (r *Canary) serves(v *world.Version) bool {
	leaving := r.update.Is.Abort && r.world.ObservedSelects(r.canaryService.Name) == v.Hash
	return r.carrier() == v && r.now > 0 || r.world.ObservedSelects(r.stableService.Name) == v.Hash || leaving
}

// retire takes the pods away of versions that nothing sends to any more, after their delays.
func (r *Canary) retire() {
	services := r.world.WithUnnamed(r.stableService.Name, r.canaryService.Name)
	stable := r.world.StableBeside()
	if r.update.Is.Abort && !r.AbortScaleDown {
		r.draft.Keep(r.world.New) // where it had a delay, 0 ends that, and the pods stay
	}
	if r.update.Is.Abort && r.AbortScaleDown && r.world.New != nil && stable.Fleet().Serving() >= r.replicas() && (!r.DynamicStableScale || r.AbortDelaySet) {
		r.draft.Retire(r.world.New, r.draft.AfterAbort(r.AbortScaleDownDelay), draft.Retirement{Size: r.world.New.Desired(), Reason: "the update was aborted", Services: services})
	}
	r.draft.RetireOthers(r.ScaleDownDelay, r.ScaleDownDelayRevisionLimit, draft.Retirement{Reason: "neither the new nor the stable version", Services: services})
}

// aim is how many pods the new version comes to at the current step. What the step asks for beyond the limit nobody can have, and the only
// version there is has all, whatever its step says.
func (r *Canary) aim() int32 {
	if r.alone() {
		return r.replicas()
	}
	weight := r.update.Weight(r.canary)
	n, _ := r.canarySize(weight)
	if !r.DynamicStableScale {
		return n
	}
	return r.room().Beside(r.canary.MaxWeight-weight, n)
}

// room is what the spec leaves to both sides.
func (r *Canary) room() capacity.Room { return capacity.RoomOf(r.replicas(), r.canary) }

// free is how many pods may be added to those there are.
func (r *Canary) free() int32 { return r.world.FreeWithin(r.room()) }
