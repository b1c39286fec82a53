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

// pointServices points both Services at their versions, each when that takes traffic from nobody who cannot be replaced: while its
// weight is nothing, or to pods that can carry it.
func (r *Canary) pointServices() {
	if r.target.stable() != nil {
		r.pointStable()
	}
	r.pointCanary()
}

// pointStable has the stable Service follow the stable version.
func (r *Canary) pointStable() {
	name, v := r.split.stableService.Name, r.target.stable()
	if r.draft.Selects(name) == v.Hash {
		r.draft.Point(name, v.Hash, "it selects the stable version")
		return
	}
	have, needed := v.Fleet().Serving(), r.neededBehindStable()
	if have < needed || v.Stale() {
		r.journal.Note(change.TopicWait, fmt.Sprintf("service %s to select the stable version", name), fmt.Sprintf("%d of %d pods available", have, needed))
		return
	}
	r.draft.Point(name, v.Hash, "it is the stable version")
}

// neededBehindStable is how many pods the stable version needs before the stable Service selects it.
func (r *Canary) neededBehindStable() int32 {
	name, v, least := r.split.stableService.Name, r.target.stable(), min(1, r.target.replicas())
	needed := max(least, r.target.room().Enough(r.carriedByStable(v)))
	from := r.world.Find(r.draft.Selects(name))
	switch {
	case from != nil && r.update.State() == progress.Settled && r.EnforceMaxSurge: // the two share the room, and neither can have enough
		return max(least, min(needed, from.Fleet().Serving()))
	case !r.draft.Owned(name): // it selects pods of all versions so far, and of none but these then
		return max(least, v.Desired())
	}
	return needed
}

// awaitsStable reports whether the stable Service sends to a version still that is no part of any update, since the stable one has too few pods.
func (r *Canary) awaitsStable(v *world.Version) bool {
	return r.update.State() == progress.Settled && r.target.stable() != nil && r.draft.Selects(r.split.stableService.Name) == v.Hash && r.target.stable().Fleet().Serving() < r.neededBehindStable()
}

// carriedByStable is the weight that a version will carry once the stable Service selects it: all, as long as nobody knows what is in force.
func (r *Canary) carriedByStable(v *world.Version) int32 {
	switch weight := r.canary.MaxWeight - r.split.now; {
	case r.split.inForce && weight == 0:
		return 0
	case r.split.inForce && r.split.carrier() != v:
		return weight
	}
	return r.canary.MaxWeight
}

// pointCanary has the canary Service follow the new version while there is an update, and the stable one otherwise.
func (r *Canary) pointCanary() {
	name, v, why := r.split.canaryService.Name, r.world.New, "it is the new version"
	if r.update.State() == progress.Settled || r.update.State() == progress.Aborted && !r.target.alone() {
		v, why = r.target.stable(), "there is no update"
	}
	if v == nil {
		return
	}
	if r.draft.Selects(name) == v.Hash {
		r.draft.Point(name, v.Hash, why)
		return
	}
	carries := r.split.now > 0 && (r.split.carrier() != nil || !r.split.inForce)
	if carries && (v != r.world.New || !r.standsIn()) {
		r.journal.Note(change.TopicWait, fmt.Sprintf("service %s to select %s", name, v.Name), fmt.Sprintf("it carries %s of the traffic", r.target.portionText(r.split.now)))
		return
	}
	if have, needed := v.Fleet().Serving(), r.neededBehind(name, v); have < needed {
		r.journal.Note(change.TopicWait, fmt.Sprintf("service %s to select %s", name, v.Name), fmt.Sprintf("%d of %d pods available", have, needed))
		r.leaveOvertaken(name)
		return
	}
	r.draft.Point(name, v.Hash, why)
}

// standsIn reports whether the new version can take over from one that was overtaken, there being no stable one to do so, or none that
// has a pod. One that somebody has aborted does so only where nobody serves any more.
func (r *Canary) standsIn() bool {
	if r.abandoned() {
		return false
	}
	return (r.target.alone() || r.stableIsDown()) && r.world.New.Certain() >= max(min(1, r.target.replicas()), r.target.room().Enough(r.split.mayCarry()))
}

// abandoned reports whether an update was aborted that cannot go back to the stable version, which is gone, while the version that it was to
// overtake still serves: then that does so for as long as somebody tries again, or something else.
func (r *Canary) abandoned() bool {
	c := r.split.carrier()
	return r.update.State() == progress.Aborted && r.target.stable() == nil && c != r.world.New && c.Fleet().Serving() > 0
}

// neededBehind is how many pods a version needs before a Service without weight selects it: whoever asks the Service by its name is to
// be answered.
func (r *Canary) neededBehind(name string, v *world.Version) int32 {
	switch {
	case r.target.replicas() == 0:
		return 0
	case r.split.mayCarry() == 0 && (r.update.State() == progress.Aborted || r.canary.PingPong && r.draft.Owned(name)): // nobody sends to it
		return 0
	case !r.draft.Owned(name):
		return max(1, v.Desired())
	}
	return 1
}

// leaveOvertaken lends a Service to the stable version for as long as the new one has no pods, so that what was overtaken can go: one
// that selects it, or that tells no versions apart.
func (r *Canary) leaveOvertaken(name string) {
	overtaken := slices.ContainsFunc(r.world.Others, func(v world.Version) bool { return v.Desired() > 0 })
	if !overtaken || r.split.carrier() == r.target.stable() || r.target.stable().Fleet().Serving() < max(1, r.neededBehind(name, r.target.stable())) {
		return
	}
	r.draft.Point(name, r.target.stable().Hash, "the new version is not available yet, and another has overtaken the one before")
}

// WithoutNew has both Services send to versions that there are while the new one cannot be created, and gives the stable one its pods.
func (r *Canary) WithoutNew() {
	if len(r.update.Problems) == 0 {
		r.split.see()
		if r.target.stable() != nil {
			r.pointStable()
		}
		r.draft.PointBack(r.split.canaryService.Name)
	}
	if r.target.stable() != nil && r.draft.MayNotScale() == "" { // never fewer: another version may still carry traffic
		r.draft.Scale(r.target.stable(), max(r.target.stable().Desired(), capacity.RoomFor(r.target.stable().Desired(), r.target.replicas(), r.target.free())), draft.WithoutNew)
	}
}
