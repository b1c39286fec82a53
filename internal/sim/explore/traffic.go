package explore

import (
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/plan/move"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// switches is what is known of who serves, and who did.
type switches struct {
	// active is the version that the active Service selects.
	active string
	// byHand is the last one that someone else made it select, which gives that version no claim.
	byHand string
	// served are the versions that it has selected, ever.
	served map[string]bool
	// left are those that it selects no more.
	left map[string]departure
	// approved are the versions that a person is content with.
	approved map[string]bool
}

// departure is when a version lost the traffic, and the shortest delay that was asked for since.
type departure struct {
	at    time.Time
	delay time.Duration
}

// seeSwitch notes where the active Service went.
func (r *rules) seeSwitch() {
	b := r.world.Rollout().Spec.Strategy.BlueGreen
	if b == nil {
		return
	}
	now := r.world.Selects(b.ActiveService)
	if now == r.active {
		return
	}
	if r.active != "" && now != "" && r.active != r.byHand {
		r.left[r.active] = departure{r.world.Now(), time.Duration(1<<63 - 1)}
		r.seeDelays(r.now())
	}
	delete(r.left, now)
	r.active = now
	if now != "" {
		r.served[now] = true
	}
}

// seeEdit allows for what people do to Services and delays.
func (r *rules) seeEdit() {
	s := r.now()
	b, ok := s.spec.Strategy.(spec.BlueGreen)
	if !s.ok {
		return
	}
	if !ok {
		r.left, r.active = map[string]departure{}, ""
		return
	}
	if now := r.world.Selects(b.ActiveService); now != r.active { // a manual edit, after which nothing is guaranteed
		delete(r.left, r.active)
		delete(r.left, now)
		r.active, r.byHand = now, now
		r.floor = 0
	}
	r.seeDelays(s)
}

func (r *rules) seeDelays(s resolved) {
	b, ok := s.spec.Strategy.(spec.BlueGreen)
	if !ok || !s.ok {
		return
	}
	delay := b.ScaleDownDelay
	if b.AbortScaleDown {
		delay = min(delay, b.AbortScaleDownDelay)
	}
	for hash, d := range r.left {
		d.delay = min(d.delay, delay)
		r.left[hash] = d
	}
}

// gates checks what comes before a switch of the active Service, and that selectors keep what is not the controller's.
func (r *rules) gates(p sim.Pass, s spec.Rollout) {
	for _, c := range p.Plan.Route {
		if u, ok := c.(change.UpdateService); ok {
			r.selector(u, p.Observed.Rollout.Name)
		}
	}
	b, ok := s.Strategy.(spec.BlueGreen)
	if !ok {
		return
	}
	status := after(p)
	for _, c := range p.Plan.Route {
		u, ok := c.(change.UpdateService)
		if !ok || u.From.Name != b.ActiveService || selected(u.From) == selected(u.To) {
			continue
		}
		to := selected(u.To)
		have, replicas, whole := carries(find(p.Observed, to)), int(s.Replicas), int(s.Replicas-b.MaxUnavailable)
		switch leaving := carries(find(p.Observed, selected(u.From))); {
		case replicas > 0 && have == 0:
			r.history.fail(move.Service.Name, "%s is pointed at %s, which has no available pod", b.ActiveService, to)
		case have < min(whole, leaving) && r.claims(p.Observed, selected(u.From)):
			r.history.fail(move.Service.Name, "%s is pointed at %s, which has %d available pods, instead of at %d", b.ActiveService, to, have, leaving)
		}
		if r.mayServe(p.Observed, status, to) {
			continue
		}
		if have < whole {
			r.history.fail(move.Service.Name, "%s is switched to %s, of which %d of %d pods are available", b.ActiveService, to, have, replicas)
		}
		if closed := r.closed(b, status, to); closed != "" {
			r.history.fail("gate", "%s is switched to %s, and %s", b.ActiveService, to, closed)
		}
	}
}

// claims reports whether the version that the active Service selects must be replaced by as many pods. An edit gives it no such claim. Neither
// does a switch that the status does not record because the controller was killed first: it looks like an edit. Clients of the Service are
// better off this way: an edit may send to a version on trial, and is reverted at the first pod, while a switch without a record is left for
// a version whose other pods have already been requested.
func (r *rules) claims(o plan.Observed, hash string) bool {
	recorded := o.Rollout.Status.BlueGreen.ActiveSelector
	return hash != r.byHand && (recorded == "" || recorded == hash)
}

// mayServe reports whether a version needs to pass no gate: it has served, it is not the one on trial, or there is nothing else.
func (r *rules) mayServe(o plan.Observed, status v1alpha1.RolloutStatus, hash string) bool {
	from := o.Rollout.Status
	return hash != status.CurrentPodHash || hash == from.StableRS || from.StableRS == "" || status.PromoteFull || from.PromoteFull || r.served[hash] ||
		find(o, from.StableRS) == nil
}

// closed is which gate before the switch a version has not passed, empty if it has passed all.
func (r *rules) closed(b spec.BlueGreen, status v1alpha1.RolloutStatus, hash string) string {
	if b.Gate != nil && b.Gate.Indefinite && !r.approved[hash] {
		return "nobody promoted it"
	}
	if run := status.BlueGreen.PrePromotionAnalysisRunStatus; b.PrePromotion != nil && !r.approved[hash] && (run == nil || run.Status != v1alpha1.AnalysisPhaseSuccessful) {
		return "its analysis has not passed"
	}
	return ""
}

// selector checks that a write of a Service touches one label of its selector, and that only to set it, or to give the Service back.
func (r *rules) selector(u change.UpdateService, owner string) {
	others := func(s *corev1.Service) map[string]string {
		m := maps.Clone(s.Spec.Selector)
		delete(m, v1alpha1.PodTemplateHashLabel)
		return m
	}
	if !maps.Equal(others(u.From), others(u.To)) {
		r.history.fail("selector", "labels of the selector of %s are changed that are not the controller's", u.From.Name)
	}
	if selected(u.To) == "" && u.To.Annotations[v1alpha1.ManagedByAnnotation] == owner {
		r.history.fail("selector", "%s loses the version that it selects", u.From.Name)
	}
}

func selected(s *corev1.Service) string { return s.Spec.Selector[v1alpha1.PodTemplateHashLabel] }

// after is the status behind a pass.
func after(p sim.Pass) v1alpha1.RolloutStatus {
	if p.Plan.Record != nil {
		return p.Plan.Record.To.Status
	}
	return p.Observed.Rollout.Status
}

// delays checks that no pods are deleted that still receive requests, or that stopped receiving them too recently.
func (r *rules) delays(p sim.Pass, s spec.Rollout) {
	b, ok := s.Strategy.(spec.BlueGreen)
	if !ok {
		return
	}
	r.seeDelays(resolved{s, true})
	for _, rs := range p.Observed.ReplicaSets {
		if replicas(rs) == 0 && rs.Status.Replicas == 0 && !p.Stale {
			delete(r.left, hashOf(rs)) // none of its pods has ever served
		}
	}
	status := after(p)
	for _, c := range p.Plan.Shrink {
		u, ok := c.(change.UpdateReplicaSet)
		if !ok || replicas(u.To) >= replicas(u.From) {
			continue
		}
		hash, to := hashOf(u.To), replicas(u.To)
		switch {
		case to >= int(s.Replicas):
		case r.sendsTo(b.ActiveService, hash):
			r.history.fail(move.Service.Name, "%s is scaled down to %d while %s sends to it", u.To.Name, to, b.ActiveService)
		case hash == status.StableRS:
			r.history.fail(move.Service.Name, "%s is scaled down to %d, and is what everything would go back to", u.To.Name, to)
		case r.tooEarly(hash) && !createdAfter(u.From, r.left[hash].at) && r.newerKept(p.Observed, status, hash) < b.ScaleDownDelayRevisionLimit:
			r.history.fail(move.Delay.Name, "%s is scaled down %s after the traffic left it, and not after %s", u.To.Name,
				r.world.Now().Sub(r.left[hash].at), r.left[hash].delay)
		}
	}
}

// sendsTo reports whether a Service selects a version, alone or with all others.
func (r *rules) sendsTo(service, hash string) bool {
	selects := r.world.Selects(service)
	return r.world.Service(service) != nil && (selects == hash || selects == "")
}

func (r *rules) tooEarly(hash string) bool {
	d, ok := r.left[hash]
	return ok && r.world.Now().Before(d.at.Add(d.delay))
}

// createdAfter reports whether a ReplicaSet is another than the one of its hash that served at some time. One that is created in that second is: no
// pod is available as fast as that.
func createdAfter(rs *appsv1.ReplicaSet, at time.Time) bool {
	return rs != nil && !rs.CreationTimestamp.Time.Before(at.Truncate(time.Second))
}

// newerKept is how many old versions with pods are newer than the given one.
func (r *rules) newerKept(o plan.Observed, status v1alpha1.RolloutStatus, hash string) int {
	old := find(o, hash)
	n := 0
	for _, rs := range o.ReplicaSets {
		if h := hashOf(rs); replicas(rs) > 0 && !slices.Contains([]string{hash, status.StableRS, status.CurrentPodHash}, h) &&
			revision(rs) >= revision(old) {
			n++
		}
	}
	return n
}
