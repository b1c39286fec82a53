package move

import (
	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// release removes this Rollout's selector from a Service, which then selects the pods of all versions. Where Services and routes split the
// traffic, clients that still use it would reach a version on trial. So it first selects the stable version, until no other version has
// pods and the active Service that replaced it was seen to select that version.
func (m *Mover) release(name string) {
	if c, ok := m.world.Spec.Strategy.(spec.Canary); ok && c.Traffic == nil { // the share of the pods is the share of the traffic
		m.free(name)
		return
	}
	keeper := m.keeper()
	switch {
	case keeper == nil:
		m.journal.Hold(Release, "the release of service "+name, "no version has pods yet")
	case m.update.State() == progress.Settled && m.world.OnlyPods(keeper) && m.replaced(keeper):
		m.free(name)
	case m.draft.Held:
		m.journal.Hold(Release, "service "+name, "routes may send to it, and "+keeper.Name+" has too few pods for that")
	case keeper.ConfirmedAvailable() >= min(1, m.world.Spec.Replicas):
		m.draft.Point(name, keeper.Hash, notNamed+", and other versions have pods")
		m.journal.Hold(Release, "the release of service "+name, "until there is no update and no other version has pods")
	default:
		m.journal.Hold(Release, "service "+name, keeper.Name+" has no available pod")
	}
}

func (m *Mover) free(name string) {
	freed := m.draft.EditService(name)
	delete(freed.Spec.Selector, v1alpha1.PodTemplateHashLabel)
	delete(freed.Annotations, v1alpha1.ManagedByAnnotation)
	m.journal.Note(change.TopicRoute, "release service "+name, notNamed)
}

// keeper is the version that clients of a released Service should reach: the stable one, or the one that serves in its place.
func (m *Mover) keeper() *world.Version {
	if stable := m.world.Find(m.update.Is.StableRS); stable != nil {
		return stable
	}
	if m.world.IsBlueGreen() {
		return m.update.Serving
	}
	return m.world.New
}

// replaced reports whether what took the place of a Service was seen to send to a version.
func (m *Mover) replaced(v *world.Version) bool {
	b, ok := m.world.Spec.Strategy.(spec.BlueGreen)
	return !ok || m.world.ObservedSelects(b.ActiveService) == v.Hash
}
