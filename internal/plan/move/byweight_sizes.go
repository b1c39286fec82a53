package move

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/capacity"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/world"
)

var sizesByWeight = []sizeRule[*ByWeight]{
	{Weight, "carry as the stable version", (*ByWeight).carryStable, "until the canary has the weight that it should get"},
	{Capacity, "fit by weight", (*ByWeight).fit, "until others are gone"},
	{Weight, "keep the share", (*ByWeight).keepShare, "until its share of the traffic has gone elsewhere"},
	{Service, "keep what serves", (*ByWeight).keepServing, "until no request can reach it"},
	{Weight, "keep what is unknown", (*ByWeight).keepUnknown, "until the routers are seen to send as they should"},
	{Live, "look at routes", (*ByWeight).look, "until the API server shows what the routes and services send where"},
}

// carryStable gives the stable version the pods for what it carries now and will carry next.
func (r *ByWeight) carryStable(s sizes) {
	one := s.of(r.want.StableBeside())
	if one == nil || one.Version == nil || !r.DynamicStableScale {
		return
	}
	weight := r.canary.MaxWeight - min(r.split.Now, r.want.Goal())
	one.to = max(r.want.Budget().Keeps(weight, r.world.New.Desired(), r.want.Aim()), min(1, r.want.Replicas()))
	one.Why = fmt.Sprintf("%s of %d is %d", r.want.PortionText(weight), r.want.Replicas(), one.to)
}

// fit lets versions grow into what room there is, the stable one first, and makes room for them. Where the others of its update keep their pods, since they
// carry the traffic or since a step says how many, a version lacks its own until a person makes room.
func (r *ByWeight) fit(s sizes) {
	free, first := r.want.Free(), r.world.New
	var lacks []string
	surge := r.canary.MaxSurge
	_, pinned := r.want.CanaryScale()
	if stable := r.want.StableBeside(); stable != nil {
		first = stable
	}
	for _, v := range slices.Compact([]*world.Version{first, r.world.New}) {
		one := s.of(v)
		if one == nil {
			continue
		}
		wanted := one.to
		surging := r.restart.WithSurge(v, wanted)
		one.Pods, one.to = one.Pods+surging-wanted, capacity.FitSurge(v.Desired(), surging, free)
		free -= max(0, one.to-v.Desired())
		if n := wanted - one.to; n > 0 && r.EnforceMaxSurge && (v == r.world.New || pinned) {
			which := map[bool]string{true: "new", false: "stable"}[v == r.world.New]
			lacks = append(lacks, fmt.Sprintf("%d of %s of the %s version", n, capacity.Pods(wanted), which))
			surge += n
		}
		if v == first {
			r.giveRoom(s, v, wanted)
		}
	}
	if len(lacks) > 0 {
		r.draft.Cramped = fmt.Sprintf("enforceMaxSurge leaves no room for %s: raise canary.maxSurge from %d to %d", strings.Join(lacks, " and "), r.canary.MaxSurge, surge)
	}
}

// giveRoom scales down superseded versions that Services still select when `to` cannot reach `wanted` within maxSurge. It leaves the minimum
// available. A version that the stable Service selects keeps the pods that carry the stable share; one that only the canary Service selects
// keeps its pods until that Service has left it.
func (r *ByWeight) giveRoom(s sizes, to *world.Version, wanted int32) {
	if r.want.Free() > 0 || to.Desired() >= wanted {
		return
	}
	shared := slices.ContainsFunc(world.ServiceNames(r.canary), func(name string) bool { return r.entry(name).after == "" })
	serving := to.Counts().Serving()
	for _, v := range r.world.Others {
		serving += v.Counts().Serving()
	}
	limits := capacity.Limits{Replicas: r.want.Replicas(), MaxSurge: r.canary.MaxSurge, MaxUnavailable: r.canary.MaxUnavailable}
	for i, n := range capacity.OldCounts(limits, serving, r.world.OtherFleets()) {
		v := &r.world.Others[i]
		selected := v == r.split.ServedCanary() || slices.ContainsFunc(world.ServiceNames(r.canary), func(name string) bool {
			return r.entry(name).names(v)
		})
		switch one := s.of(v); {
		case shared && !selected:
			one.to = min(one.to, n)
		case !selected: // but a Service that the spec named before may
			one.to = min(one.to, max(n, 1))
		case r.awaitsStable(v):
			one.to = min(one.to, max(n, r.want.Budget().Enough(r.carriedByStable(v)), 1))
		}
	}
}

// keepShare leaves the pods to versions other than the stable one that their share of the traffic needs.
func (r *ByWeight) keepShare(s sizes) {
	if one := s.of(r.world.New); one != nil && one.Version != nil && r.want.StableBeside() != nil {
		one.to = max(one.to, min(r.carried(one.Version), one.Version.Desired()))
	}
	for _, one := range s {
		if r.want.Gives(one.Version) {
			one.to = min(one.Version.Desired(), max(r.carried(one.Version), 1))
		}
	}
}

// carried is how many pods a version other than the stable one keeps for the weight that is in force.
func (r *ByWeight) carried(v *world.Version) int32 {
	weight := int32(0)
	if r.split.ServedCanary() == v {
		weight = r.split.Now
	}
	if r.world.ObservedSelects(r.split.StableService.Name) == v.Hash { // by hand, or by the strategy before this one
		weight = r.canary.MaxWeight - r.split.Now + weight
	} else if _, explicit := r.want.CanaryScale(); explicit && v == r.world.New && weight <= r.want.Goal() {
		return min(weight, 1, r.want.Replicas()) // the user said how many, whatever the weight is to be; but not none
	}
	if r.want.Alone() {
		return r.want.Budget().Keeps(weight, r.world.New.Desired(), r.want.Replicas())
	}
	return r.want.Budget().Keeps(weight, r.want.Stable().Desired(), r.want.Budget().Sized(r.canary.MaxWeight-r.want.Goal()))
}

// shrinking are the versions that are to have fewer pods than before, and fewer than carry all the traffic.
func (r *ByWeight) shrinking(s sizes) sizes {
	return slices.DeleteFunc(slices.Clone(s), func(one *size) bool { return !one.shrinks() || one.to >= r.want.Replicas() })
}

// keepServing leaves its pods to a version that is to have none while requests may reach it, by weight or because a Service is still to be pointed
// elsewhere.
func (r *ByWeight) keepServing(s sizes) {
	for _, one := range r.shrinking(s) {
		v := one.Version
		leaving := r.update.State() == progress.Aborted && r.world.ObservedSelects(r.split.CanaryService.Name) == v.Hash
		if one.to == 0 && (r.split.ServedCanary() == v && r.split.Now > 0 || r.world.ObservedSelects(r.split.StableService.Name) == v.Hash || leaving) {
			one.stay()
		}
	}
}

// keepUnknown leaves pods for all traffic to each version that a Service sends to until it is known who carries what.
func (r *ByWeight) keepUnknown(s sizes) {
	services := r.world.WithUnnamed(r.split.StableService.Name, r.split.CanaryService.Name)
	for _, one := range r.shrinking(s) {
		if !r.split.InForce && r.reached(one.Version, services) {
			one.to = max(one.to, min(one.Version.Desired(), r.want.Budget().Enough(r.canary.MaxWeight)))
		}
	}
}

// look asks for Services and routes as they are before a version loses pods.
func (r *ByWeight) look(s sizes) {
	for _, one := range r.shrinking(s) {
		if !r.world.ServicesLive || !r.world.RoutesLive {
			r.journal.Need(change.NeedLiveRouting{})
			one.stay()
		}
	}
}
