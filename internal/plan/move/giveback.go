package move

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

// notNamed is why something is given back.
const notNamed = "the Rollout does not name it any more"

// GiveBack releases what this Rollout has marked as its own and does not name any more: routes of other routers than those, and Services.
// Requests may still come by them. So the stable version has its pods first; then routes send to its Service alone; and only when no route
// is seen to tell the Services apart are these released.
func (m *Mover) GiveBack(named ...traffic.Router) {
	m.draft.RecordElsewhere(named)
	unnamed := m.world.UnnamedServices()
	m.draft.Tied = len(m.draft.RouteWrites)
	if !m.releaseRoutes(m.unnamedRoutes(named)) || len(m.update.Problems) > 0 || m.draft.Tied > 0 && m.answer(unnamed) {
		return
	}
	for _, s := range unnamed {
		if s.Name != m.draft.Carrying {
			m.release(s.Name)
		}
	}
}

// answer reports whether each of the Services selects a version that has pods.
func (m *Mover) answer(services []*corev1.Service) bool {
	return !slices.ContainsFunc(services, func(s *corev1.Service) bool { return m.world.Find(m.draft.Selects(s.Name)).Counts().Serving() == 0 })
}

// unnamedRoutes take out of objects that the spec does not name any more what a router put there for this Rollout.
func (m *Mover) unnamedRoutes(named []traffic.Router) []change.WriteRoute {
	keep := map[traffic.Key]bool{}
	for _, router := range named {
		for _, ref := range router.Refs() {
			keep[ref.Key()] = true
		}
	}
	var writes []change.WriteRoute
	owner := m.world.RouteOwner()
	for _, key := range slices.SortedFunc(maps.Keys(m.world.Routes), world.CompareKeys) {
		from := m.world.Routes[key]
		if keep[key] || !m.world.MaySee(key) || !slices.Contains(routers.Owners(from, m.world.Policy), types.NamespacedName{Namespace: owner.Namespace, Name: owner.Name}) {
			continue
		}
		to := routers.Return(owner, from)
		if to != nil && equality.Semantic.DeepEqual(from.Object, to.Object) {
			continue
		}
		writes = append(writes, change.WriteRoute{From: from, To: to})
	}
	return writes
}
