package explore

import (
	"math"
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/move"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// explicit is how many pods the spec wants the canary to have at the least, by a setCanaryScale; many if there is none.
func explicit(c spec.Canary, n int32) int {
	least := math.MaxInt
	for _, step := range c.Steps {
		switch s, ok := step.(spec.SetCanaryScale); {
		case ok && s.Replicas != nil:
			least = min(least, int(*s.Replicas))
		case ok && s.Percent != nil:
			least = min(least, int((int64(*s.Percent)*int64(n)+int64(c.MaxWeight)-1)/int64(c.MaxWeight)))
		}
	}
	return least
}

// needed is how many pods a version needs, at the least, to carry its share.
func needed(s spec.Rollout, c spec.Canary, share shares, hash, current string) int {
	n := share.needs(hash, s.Replicas)
	if c.Traffic.EnforceMaxSurge && n > 1 { // a pod is spared for less than one unit of the weight
		weight := share.by[hash] * int64(c.MaxWeight) / share.total
		n = max(n-1, int((weight-1)*int64(s.Replicas)/int64(c.MaxWeight))+1)
	}
	if hash == current {
		n = min(n, max(1, explicit(c, s.Replicas)))
		for n > 0 && c.Threshold.Met(int32(n-1), int32(n)) && n > 1 {
			n--
		}
	}
	return max(n-int(c.MaxUnavailable), min(n, 1))
}

func (r *rules) moved(p sim.Pass, s spec.Rollout, c spec.Canary, now, next picture) {
	if c.Traffic == nil || s.Replicas == 0 {
		return
	}
	before, status := r.split(now), after(p)
	nobody := !slices.ContainsFunc(p.Observed.ReplicaSets, func(rs *appsv1.ReplicaSet) bool { return carries(rs) > 0 }) // could carry anything
	for route, then := range r.split(next) {
		was, ok := before[route]
		if !ok || len(was.by) == 0 {
			continue
		}
		someone := false // who loses has nobody
		for hash := range was.by {
			someone = someone || then.of(hash) < was.of(hash) && carries(find(p.Observed, hash)) > 0
		}
		for hash := range then.by {
			if then.of(hash) <= was.of(hash) {
				continue
			}
			have := carries(find(p.Observed, hash))
			if !someone && (have > 0 || nobody) {
				continue
			}
			if need := needed(s, c, then, hash, status.CurrentPodHash); have < need {
				r.history.fail(move.Weight.Name, "%s: %s gets %.3f instead of %.3f with %d available pods, needing %d: %s", route, hash, then.of(hash), was.of(hash), have, need, summary(r.world))
			}
			from := p.Observed.Rollout.Status
			if hash == status.CurrentPodHash && status.Abort && from.Abort && from.AbortedAt != nil && status.StableRS != hash && !r.leftAlone(p, c, now, was) {
				r.history.fail("abort", "%s: %s gets %.3f instead of %.3f although its update was aborted", route, hash, then.of(hash), was.of(hash))
			}
		}
	}
}

// leftAlone reports whether only an aborted version is left for the Services that the spec names: the stable version, which had a share, is gone,
// and any other share went through a Service that is no longer named. Requests for the stable version have failed until then, so their
// clients only gain if the aborted version answers.
func (r *rules) leftAlone(p sim.Pass, c spec.Canary, now picture, was shares) bool {
	stable := p.Observed.Rollout.Status.StableRS
	if was.of(stable) == 0 || find(p.Observed, stable) != nil {
		return false
	}
	for hash := range was.by {
		if hash != stable && (now.services[c.CanaryService.Name] == hash || now.services[c.StableService.Name] == hash) {
			return false
		}
	}
	return true
}

// pointed checks what a Service is pointed at that may not be weighed by a router.
func (r *rules) pointed(p sim.Pass, s spec.Rollout, c spec.Canary, u change.UpdateService) {
	from, to := selected(u.From), selected(u.To)
	if s.Replicas == 0 || from == to || to == "" || c.Traffic != nil && (c.PingPong || after(p).Abort) {
		return
	}
	if carries(find(p.Observed, to)) == 0 && (from == "" || carries(find(p.Observed, from)) > 0) {
		r.history.fail(move.Service.Name, "%s is pointed at %s, which has no available pod: %s", u.From.Name, to, summary(r.world))
	}
}
