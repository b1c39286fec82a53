package explore

import (
	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan/move"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/spec"
)

func (r *rules) shrunk(p sim.Pass, s spec.Rollout, c spec.Canary, hash string, now, next picture) {
	to, from, status := next.sizes[hash], now.sizes[hash], after(p)
	if to >= from || to >= int(s.Replicas) {
		return
	}
	if c.Traffic == nil {
		for _, service := range []string{c.CanaryService.Name, c.StableService.Name} {
			if now.services[service] != hash || to > 0 || service == "" {
				continue
			}
			for _, rs := range p.Observed.ReplicaSets {
				if hashOf(rs) != hash && carries(rs) > 0 && carries(find(p.Observed, hash)) > 0 {
					r.history.fail(move.Service.Name, "%s is scaled to nothing while %s selects it: %s", hash, service, summary(r.world))
				}
			}
		}
		return
	}
	for route, share := range r.split(r.picture()) { // as it was before the pass: what it moves has to be seen first
		need := needed(s, c, share, hash, status.CurrentPodHash)
		// With enforceMaxSurge the pods that are not available yet may have to make room for the stable version's, which traffic goes back to.
		if spares := c.Traffic.EnforceMaxSurge && to >= carries(find(p.Observed, hash)); to < need && !spares {
			r.history.fail(move.Weight.Name, "%s is scaled from %d to %d and carries %.3f of %s: %s", hash, from, to, share.of(hash), route, summary(r.world))
		}
	}
	if to == 0 && s.Replicas > 0 && now.services[r.stableService(c)] == hash {
		r.history.fail(move.Service.Name, "%s is scaled to nothing while the stable service selects it: %s", hash, summary(r.world))
	}
	d, left := r.weights.left[hash]
	if left && !createdAfter(find(p.Observed, hash), d.at) && hash != current(status) && r.world.Now().Before(d.at.Add(d.delay)) && r.newerKept(p.Observed, status, hash) < c.Traffic.ScaleDownDelayRevisionLimit {
		r.history.fail(move.Delay.Name, "%s is scaled from %d to %d, %s after the traffic left it, not %s: %s", hash, from, to, r.world.Now().Sub(d.at), d.delay, summary(r.world))
	}
}

func (r *rules) stableService(c spec.Canary) string {
	if c.PingPong && r.world.Rollout().Status.Canary.StablePingPong != v1alpha1.Ping {
		return c.CanaryService.Name
	}
	return c.StableService.Name
}
