package explore

import (
	"maps"
	"slices"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// carried checks a plan write by write: traffic goes only to pods that can carry it, and pods do not go from under it.
func (r *rules) carried(p sim.Pass, s spec.Rollout) {
	c, ok := s.Strategy.(spec.Canary)
	if !ok || !r.history.Routed || r.weights.bent || len(r.world.Rollout().Status.CurrentPodHash) == 0 {
		return
	}
	status := after(p)
	delete(r.weights.left, current(status))
	now := r.picture()
	for _, change := range slices.Concat(p.Plan.Grow, p.Plan.Route, p.Plan.Shrink) {
		next := picture{maps.Clone(now.services), maps.Clone(now.routes), maps.Clone(now.sizes)}
		switch change := change.(type) {
		case plan.CreateReplicaSet:
			next.sizes[hashOf(change.ReplicaSet)] = replicas(change.ReplicaSet)
		case plan.UpdateReplicaSet:
			next.sizes[hashOf(change.To)] = replicas(change.To)
			if replicas(change.To) < replicas(change.From) {
				r.shrunk(p, s, c, hashOf(change.To), now, next)
			}
		case plan.UpdateService:
			have := r.world.Service(change.From.Name)
			if have == nil || have.ResourceVersion != change.From.ResourceVersion {
				return // a conflict
			}
			next.services[change.From.Name] = selected(change.To)
			r.moved(p, s, c, now, next)
			r.pointed(p, s, c, change)
		case plan.WriteRoute:
			if change.From == nil {
				next.routes[traffic.KeyOf(change.To)] = change.To
			} else if key := traffic.KeyOf(change.From); next.routes[key] == nil || next.routes[key].GetResourceVersion() != change.From.GetResourceVersion() {
				return // a conflict
			} else if change.To == nil {
				delete(next.routes, key)
			} else {
				next.routes[key] = change.To
			}
			r.moved(p, s, c, now, next)
		case plan.DeleteReplicaSet: // without pods
		case plan.UpdatePod, plan.EvictPod, plan.ScaleWorkload, plan.CreateService, plan.DeleteService, plan.CreateAnalysisRun,
			plan.TerminateAnalysisRun, plan.DeleteAnalysisRun, plan.CreateExperiment, plan.TerminateExperiment, plan.DeleteExperiment:
			// no part of the picture
		}
		now = next
	}
}

// current is the version that is being updated to, empty during an abort.
func current(s v1alpha1.RolloutStatus) string {
	if s.Abort {
		return ""
	}
	return s.CurrentPodHash
}
