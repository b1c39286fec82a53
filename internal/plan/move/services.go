package move

import (
	"fmt"

	"github.com/sluice-delivery/sluice/internal/plan/target"
	"github.com/sluice-delivery/sluice/internal/plan/world"
)

// withoutNew is why what runs is scaled although there is an update to begin.
const withoutNew = "the new version cannot be created"

// pointBack points a Service that a manual edit left without an existing version at the stable one.
func (m *Mover) pointBack(name string) {
	if hash := m.draft.Selects(name); hash != "" && m.world.Find(hash) == nil {
		m.pointAvailable(target.Selection{Service: name, Version: m.world.Stable, Why: "it selects no version that there is"})
	}
}

var servicesByPods = []serviceRule[*Mover]{
	{Service, "pods for a Service", (*Mover).awaitsPods, ""},
}

// pointAvailable points a Service at a version as soon as that has the pods for it. While it has none, a Service whose version is neither the new
// nor the stable one is lent to another.
func (m *Mover) pointAvailable(s target.Selection) {
	if s.Service == "" {
		return
	}
	if !mayPoint(m, m.scene, s, "service "+s.Service, servicesByPods) {
		if lent := m.standIn(s.Service); lent != nil {
			m.draft.Point(s.Service, lent.Hash, "the version that it is for has no pods")
		}
		return
	}
	if s.Version != nil {
		m.draft.Point(s.Service, s.Version.Hash, s.Why)
	}
}

// awaitsPods has a Service wait for an available pod of a version, or for all of them where it has selected the pods of every version so far.
func (m *Mover) awaitsPods(s target.Selection) string {
	if s.Version == nil {
		return m.update.WhyGone()
	}
	needed := min(1, m.world.Spec.Replicas) // with no pods wanted there is nobody to wait for
	if !m.draft.Owned(s.Service) {
		needed = max(needed, s.Version.Desired())
	}
	if have := s.Version.Counts().Serving(); have < needed {
		return fmt.Sprintf("%d of %d pods available", have, needed)
	}
	return ""
}

// standIn is the version that a Service is lent to whose own has no pods, nil where it stays as it is: at a version that plays a part, or at
// the pods of all. It is the stable one, or any that has pods where that is gone and nobody answers.
func (m *Mover) standIn(name string) *world.Version {
	last := m.world.Find(m.draft.Selects(name))
	switch {
	case m.draft.Selects(name) == "", last != nil && (last == m.world.New || last == m.world.Stable):
		return nil
	case m.world.Stable.Counts().Serving() > 0:
		return m.world.Stable
	case last.Counts().Serving() == 0 && m.world.Remaining().ConfirmedAvailable() > 0:
		return m.world.Remaining()
	}
	return nil
}
