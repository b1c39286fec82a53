package move

import (
	"slices"

	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/world"
)

// entry is a way by which requests reach pods: a Service, with the hash that it selected before this pass and the one that it selects after it. An
// empty hash is every version. Requests that came by it a moment ago may still be on their way, so both count.
type entry struct{ before, after string }

func (s scene) entry(service string) entry {
	return entry{before: s.world.ObservedSelects(service), after: s.draft.Selects(service)}
}

// names reports whether the entry selects this version in particular.
func (e entry) names(v *world.Version) bool { return e.before == v.Hash || e.after == v.Hash }

// reaches reports whether requests may come to a version.
func (e entry) reaches(v *world.Version) bool { return e.names(v) || e.before == "" || e.after == "" }

// only reports whether the entry sends to this version and no other, before this pass and after it.
func (e entry) only(v *world.Version) bool {
	return v != nil && e.before == v.Hash && e.after == v.Hash
}

// reached reports whether one of the Services that there are may send requests to a version.
func (s scene) reached(v *world.Version, services []string) bool {
	return slices.ContainsFunc(services, func(name string) bool { return s.draft.Service(name) != nil && s.entry(name).reaches(v) })
}

// unreached reports whether none of the Services sends anything to a version any more. Pods that have served are gone for good once they are
// gone, so this is asked of the API server itself ([Live]) and not of a cache, which may show last minute's Service.
func (s scene) unreached(v *world.Version, services []string) bool {
	if s.reached(v, services) {
		return false
	}
	if !s.world.ServicesLive {
		s.journal.Need(change.NeedLiveServices{})
	}
	return s.world.ServicesLive
}

// staying is how many pods of a version can be relied on, after this pass too.
func (s scene) staying(v *world.Version) int32 {
	if v == nil {
		return 0
	}
	after := world.Version{ReplicaSet: s.draft.Edited(v)}
	return min(v.Counts().Serving(), after.Desired())
}
