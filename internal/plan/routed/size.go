package routed

import (
	"fmt"
	"slices"

	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/capacity"
	"github.com/sluice-delivery/sluice/internal/plan/draft"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/world"
)

// size gives the versions that serve, or are about to, their pods.
func (r *Canary) size() {
	stable := r.target.stableBeside()
	if r.abandoned() {
		if r.draft.Create != nil {
			r.draft.ScaleNew(0, "the update was aborted")
		}
		return
	}
	if stable == nil {
		to := capacity.RoomFor(r.world.New.Desired(), r.restart.WithSurge(r.world.New, r.target.replicas()), r.target.free()) // others may still have pods
		r.resize(r.world.New, to, fmt.Sprintf("the only version takes all %d", r.target.replicas()))
		if r.draft.Create != nil { // the stable version's own ReplicaSet is gone
			r.draft.ScaleNew(to, "the only version takes all")
		}
		r.giveRoom(r.world.New, r.target.replicas())
		r.shrinkCarrier()
		return
	}
	r.draft.Keep(stable) // a deadline that it has is of the strategy before this one
	free, aim := r.target.free(), r.target.aim()
	wanted, why := r.stableSize(aim)
	to := capacity.RoomFor(stable.Desired(), r.restart.WithSurge(stable, wanted), free)
	free -= max(0, to-stable.Desired())
	r.resize(stable, to, why)
	r.giveRoom(stable, wanted)

	switch {
	case r.update.State() == progress.Aborted:
		r.sizeAborted()
	default:
		_, why := r.target.canarySize(r.update.Weight(r.canary))
		if n := r.inherited(); n > aim {
			aim, why = n, "it takes over what "+r.split.carrier().Name+" carries"
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
	if !r.EnforceMaxSurge || r.target.free() > 0 || to.Desired() >= wanted {
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
	limits := capacity.Limits{Replicas: r.target.replicas(), MaxSurge: r.canary.MaxSurge, MaxUnavailable: r.canary.MaxUnavailable}
	for i, n := range capacity.OldCounts(limits, serving, fleets) {
		v := &r.world.Others[i]
		selected := v == r.split.carrier() || slices.ContainsFunc(world.ServiceNames(r.canary), func(name string) bool {
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

// carried is how many pods a version other than the stable one keeps for the weight that is in force.
func (r *Canary) carried(v *world.Version) int32 {
	if v == nil {
		return 0
	}
	weight := int32(0)
	if r.split.carrier() == v {
		weight = r.split.now
	}
	if r.world.ObservedSelects(r.split.stableService.Name) == v.Hash { // by hand, or by the strategy before this one
		weight = r.canary.MaxWeight - r.split.now + weight
	} else if _, explicit := r.target.canaryScale(); explicit && v == r.world.New && weight <= r.goal() {
		return min(weight, 1, r.target.replicas()) // the user said how many, whatever the weight is to be; but not none
	}
	if r.target.alone() {
		return r.target.room().Keeps(weight, r.world.New.Desired(), r.target.replicas())
	}
	return r.target.room().Keeps(weight, r.target.stable().Desired(), r.target.room().Sized(r.canary.MaxWeight-r.goal()))
}

// inherited is how many pods the new version gets to take the part over of one that it has overtaken, where the stable version has
// no pod that could.
func (r *Canary) inherited() int32 {
	if c := r.split.carrier(); c == nil || c == r.world.New || !r.stableIsDown() {
		return 0
	}
	return capacity.Share(r.split.mayCarry(), r.target.replicas(), r.canary.MaxWeight)
}

// stableIsDown reports whether the stable version has no available pod, though it should have.
func (r *Canary) stableIsDown() bool {
	return r.target.replicas() > 0 && r.target.stable().Fleet().Available == 0
}

// stableSize is how many pods the stable version should have: all, or with dynamicStableScale as many as its traffic needs now and
// will need next, and one at least while its Service sends to it, since proxies answer with errors for a Service without endpoints.
func (r *Canary) stableSize(aim int32) (int32, string) {
	if !r.DynamicStableScale {
		return r.target.replicas(), "the stable version keeps all its pods"
	}
	weight := r.canary.MaxWeight - min(r.split.now, r.goal())
	n := max(r.target.room().Keeps(weight, r.world.New.Desired(), aim), min(1, r.target.replicas()))
	return n, fmt.Sprintf("%s of %d is %d", r.target.portionText(weight), r.target.replicas(), n)
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
	c := r.split.carrier()
	if c == nil || c == r.world.New || c == r.target.stable() || !r.DynamicStableScale || r.update.State() == progress.Settled && r.world.ObservedSelects(r.split.stableService.Name) == c.Hash {
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
	case to >= r.target.replicas(): // as many as all the traffic needs
		return true
	case to == 0 && r.serves(v):
		return false
	case !r.split.inForce:
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
	leaving := r.update.State() == progress.Aborted && r.world.ObservedSelects(r.split.canaryService.Name) == v.Hash
	return r.split.carrier() == v && r.split.now > 0 || r.world.ObservedSelects(r.split.stableService.Name) == v.Hash || leaving
}

// retire takes the pods away of versions that nothing sends to any more, after their delays.
func (r *Canary) retire() {
	services := r.world.WithUnnamed(r.split.stableService.Name, r.split.canaryService.Name)
	stable := r.target.stableBeside()
	if r.update.State() == progress.Aborted && !r.AbortScaleDown {
		r.draft.Keep(r.world.New) // where it had a delay, 0 ends that, and the pods stay
	}
	if r.update.State() == progress.Aborted && r.AbortScaleDown && r.world.New != nil && stable.Fleet().Serving() >= r.target.replicas() && (!r.DynamicStableScale || r.AbortDelaySet) {
		r.draft.Retire(r.world.New, r.draft.AfterAbort(r.AbortScaleDownDelay), draft.Retirement{Size: r.world.New.Desired(), Reason: "the update was aborted", Services: services})
	}
	r.draft.RetireOthers(r.ScaleDownDelay, r.ScaleDownDelayRevisionLimit, draft.Retirement{Reason: "neither the new nor the stable version", Services: services})
}
