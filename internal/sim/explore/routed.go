package explore

import (
	"maps"
	"slices"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
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
	for _, made := range slices.Concat(p.Plan.Grow, p.Plan.Route, p.Plan.Shrink) {
		next := picture{maps.Clone(now.services), maps.Clone(now.routes), maps.Clone(now.sizes)}
		switch made := made.(type) {
		case change.CreateReplicaSet:
			next.sizes[hashOf(made.ReplicaSet)] = replicas(made.ReplicaSet)
		case change.UpdateReplicaSet:
			next.sizes[hashOf(made.To)] = replicas(made.To)
			if replicas(made.To) < replicas(made.From) {
				r.shrunk(p, s, c, hashOf(made.To), now, next)
			}
		case change.UpdateService:
			have := r.world.Service(made.From.Name)
			if have == nil || have.ResourceVersion != made.From.ResourceVersion {
				return // a conflict
			}
			next.services[made.From.Name] = selected(made.To)
			r.moved(p, s, c, now, next)
			r.pointed(p, s, c, made)
		case change.WriteRoute:
			if made.From == nil {
				next.routes[traffic.KeyOf(made.To)] = made.To
			} else if key := traffic.KeyOf(made.From); next.routes[key] == nil || next.routes[key].GetResourceVersion() != made.From.GetResourceVersion() {
				return // a conflict
			} else if made.To == nil {
				delete(next.routes, key)
			} else {
				next.routes[key] = made.To
			}
			r.moved(p, s, c, now, next)
		case change.DeleteReplicaSet: // without pods
		case change.UpdatePod, change.EvictPod, change.ScaleWorkload, change.CreateService, change.DeleteService, change.CreateAnalysisRun,
			change.TerminateAnalysisRun, change.DeleteAnalysisRun, change.CreateExperiment, change.TerminateExperiment, change.DeleteExperiment:
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
