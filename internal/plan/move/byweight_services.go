package move

import (
	"fmt"
	"slices"

	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/target"
	"github.com/sluice-delivery/sluice/internal/plan/world"
)

var stableByWeight = []serviceRule[*ByWeight]{
	{Service, "pods for the stable Service", (*ByWeight).stableAwaitsPods, ""},
}

var canaryByWeight = []serviceRule[*ByWeight]{
	{Weight, "no weight on the canary Service", (*ByWeight).awaitsNoWeight, ""},
	{Service, "pods for the canary Service", (*ByWeight).canaryAwaitsPods, ""},
}

// pointServices points both Services at their versions, each when that takes traffic from nobody who cannot be replaced: while its
// weight is nothing, or to pods that can carry it.
func (r *ByWeight) pointServices() {
	for _, s := range r.want.Target().Services {
		if s.Service == r.split.StableService.Name {
			r.pointStable(s)
		} else {
			r.pointCanary(s)
		}
	}
}

func (r *ByWeight) pointStable(s target.Selection) {
	r.point(s, "service "+s.Service+" to select the stable version", stableByWeight)
}

func (r *ByWeight) pointCanary(s target.Selection) {
	if !r.point(s, fmt.Sprintf("service %s to select %s", s.Service, s.Version.Name), canaryByWeight) && r.awaitsNoWeight(s) == "" {
		r.leaveSuperseded(s.Service)
	}
}

// point points a Service at a version unless a rule has it wait, and reports whether it selects that by now.
func (r *ByWeight) point(s target.Selection, what string, rules []serviceRule[*ByWeight]) bool {
	if !mayPoint(r, r.scene, s, what, rules) {
		return false
	}
	r.draft.Point(s.Service, s.Version.Hash, s.Why)
	return true
}

// stableAwaitsPods has the stable Service wait until the stable version has the pods for what it will carry then.
func (r *ByWeight) stableAwaitsPods(s target.Selection) string {
	have, needed := s.Version.Counts().Serving(), r.neededByStable()
	if have < needed || s.Version.Unobserved() {
		return fmt.Sprintf("%d of %d pods available", have, needed)
	}
	return ""
}

// neededByStable is how many pods the stable version needs before the stable Service selects it.
func (r *ByWeight) neededByStable() int32 {
	name, v, least := r.split.StableService.Name, r.want.Stable(), min(1, r.want.Replicas())
	switch now := r.world.Find(r.draft.Selects(name)); {
	case now == nil && !r.draft.Owned(name): // it selects pods of all versions so far, and of none but these then
		return max(least, v.Desired())
	case now != nil && now != v && now.Counts().Available == 0: // who comes by it finds nobody
		return least
	}
	return max(least, r.want.Budget().Enough(r.carriedByStable(v)))
}

// awaitsStable reports whether the stable Service sends to a version still that is not part of any update: the stable one has too few pods, or is gone.
func (r *ByWeight) awaitsStable(v *world.Version) bool {
	stable := r.want.Stable()
	awaits := stable == nil || stable == r.world.New && stable.Counts().Serving() < r.neededByStable()
	return awaits && r.draft.Selects(r.split.StableService.Name) == v.Hash
}

// carriedByStable is the weight that a version will carry once the stable Service selects it: all, as long as nobody knows what is in force.
func (r *ByWeight) carriedByStable(v *world.Version) int32 {
	if weight := r.canary.MaxWeight - r.split.Now; r.split.InForce && (weight == 0 || r.split.ServedCanary() != v) {
		return weight
	}
	return r.canary.MaxWeight
}

// awaitsNoWeight has the canary Service wait while it carries traffic, unless the new version can stand in for the version that serves it.
func (r *ByWeight) awaitsNoWeight(s target.Selection) string {
	carries := r.split.Now > 0 && (r.split.ServedCanary() != nil || !r.split.InForce)
	if carries && (s.Version != r.world.New || !r.standsIn()) {
		return fmt.Sprintf("it carries %s of the traffic", r.want.PortionText(r.split.Now))
	}
	return ""
}

// standsIn reports whether the new version can take over from a superseded one, because there is no stable version, or none with a pod. An
// aborted new version takes over only if nothing else serves.
func (r *ByWeight) standsIn() bool {
	return !r.want.Abandoned() && (r.want.Alone() || r.want.StableIsDown()) && r.world.New.ConfirmedAvailable() >= max(min(1, r.want.Replicas()), r.want.Budget().Enough(r.split.MayCarry()))
}

// canaryAwaitsPods makes the canary Service wait for pods even without a weight: clients may call it by name.
func (r *ByWeight) canaryAwaitsPods(s target.Selection) string {
	if have, needed := s.Version.Counts().Serving(), r.neededByCanary(s.Service, s.Version); have < needed {
		return fmt.Sprintf("%d of %d pods available", have, needed)
	}
	return ""
}

// neededByCanary is how many pods a version needs before the canary Service selects it.
func (r *ByWeight) neededByCanary(name string, v *world.Version) int32 {
	switch {
	case r.want.Replicas() == 0:
		return 0
	case r.split.MayCarry() == 0 && (r.update.State() == progress.Aborted || r.canary.PingPong && r.draft.Owned(name)): // nobody sends to it
		return 0
	case !r.draft.Owned(name):
		return max(1, v.Desired())
	}
	return 1
}

// leaveSuperseded lends the canary Service to the stable version for as long as the new one has no pods, so that what was superseded can go: one
// that selects it, or that tells no versions apart.
func (r *ByWeight) leaveSuperseded(name string) {
	stable := r.want.Stable()
	superseded := slices.ContainsFunc(r.world.Others, func(v world.Version) bool { return v.Desired() > 0 })
	if !superseded || r.split.ServedCanary() == stable || stable.Counts().Serving() < max(1, r.neededByCanary(name, stable)) {
		return
	}
	r.draft.Point(name, stable.Hash, "the new version is not available yet, and another has superseded the one before")
}
