package explore

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// rules check a history while it goes on.
type rules struct {
	history *history
	world   *sim.World

	// what was seen last
	available, pods, drained int

	// floor is how many pods must stay available, missing how many of them were lost without anybody knowing yet.
	floor, missing int
	// ceiling is how many pods there may be.
	ceiling int

	// told are the events since something happened from outside.
	told   map[string]bool
	passes int
	// busy counts the passes in one instant.
	busy int
	at   time.Time
}

// before notes how things are just before something happens from outside.
func (r *rules) before() { r.look() }

// after allows for what happened from outside.
func (r *rules) after() {
	r.lost()
	r.allow(r.world.Rollout())
	r.told = map[string]bool{}
	r.busy = 0
}

// watch is called after everything that happens in the world.
func (r *rules) watch() {
	drained := r.world.Drained - r.drained
	if drained > 0 {
		r.capacity(drained)
	}
	r.surge()
	r.lost()
	r.catchUp()
}

// capacity holds after pods were scaled away.
func (r *rules) capacity(drained int) {
	now := r.world.Available()
	if must := min(r.available, r.floor-r.missing); now < must {
		r.history.fail("capacity", "%d available pods were scaled away and leave %d, less than %d: %s", drained, now, must, summary(r.world))
	}
}

// surge holds after pods were added.
func (r *rules) surge() {
	if now := r.world.PodCount(); now > max(r.pods, r.ceiling) {
		r.history.fail("surge", "%d pods, more than %d: %s", now, r.ceiling, summary(r.world))
	}
}

// lost counts pods that were not scaled away and are available no more, and remembers how things are.
func (r *rules) lost() {
	before, drained := r.available, r.world.Drained-r.drained
	r.look()
	if gone := before - drained - r.available; gone > 0 {
		r.missing += gone
		r.told = map[string]bool{}
	}
}

func (r *rules) look() {
	r.available, r.pods, r.drained = r.world.Available(), r.world.PodCount(), r.world.Drained
}

// limitsOf are the least available pods and the most pods that a spec allows. A wrong one allows everything: nothing acts on it.
func limitsOf(ro *v1alpha1.Rollout) (least, most int, ok bool) {
	s, problems := spec.Resolve(ro)
	c, isCanary := s.Strategy.(spec.Canary)
	if len(problems) > 0 || !isCanary {
		return 0, 0, false
	}
	return int(s.Replicas - c.MaxUnavailable), int(s.Replicas + c.MaxSurge), true
}

// allow lets both the old and the new limits hold until the new ones have been reached.
func (r *rules) allow(ro *v1alpha1.Rollout) {
	if least, most, ok := limitsOf(ro); ok {
		r.floor, r.ceiling = min(r.floor, least), max(r.ceiling, most)
	}
}

// catchUp takes the present limits for granted once they have been reached, and everybody can know.
func (r *rules) catchUp() {
	if !r.world.Quiet() {
		return
	}
	least, most, ok := limitsOf(r.world.Rollout())
	if !ok {
		return
	}
	if r.available >= least {
		r.floor, r.missing = least, 0
	}
	if r.world.Desired() <= most {
		r.ceiling = most
	}
}

// pass checks what the controller decided.
func (r *rules) pass(p sim.Pass) {
	r.passes++
	r.history.log("%s pass %s; there are %s", r.world.Elapsed(), tellPass(p), r.world.Pods())
	r.allow(p.Observed.Rollout)
	r.missing = max(r.missing, p.Unseen, r.floor-seen(p.Observed))
	r.decision(p)
	r.pure(p)
	r.pauses(p)
	r.promotion(p)
	r.people(p)
	r.events(p)
	if p.Idle != "" {
		r.history.fail("fixpoint", "%s", p.Idle)
	}
	if r.world.Now().Equal(r.at) {
		r.busy++
	} else {
		r.at, r.busy = r.world.Now(), 0
	}
	if r.busy > 100 {
		r.history.fail("convergence", "a hundred passes in one instant: %s", summary(r.world))
	}
}

// seen is how many pods an observation shows that are available and stay. One that has become available since is nobody's promise.
func seen(o plan.Observed) int {
	n := 0
	for _, rs := range o.ReplicaSets {
		n += min(replicas(rs), int(rs.Status.AvailableReplicas))
	}
	return n
}

// decision checks the capacity rule on what the engine saw: what it leaves can carry the minimum, or what there was.
func (r *rules) decision(p sim.Pass) {
	least, _, ok := limitsOf(p.Observed.Rollout)
	if !ok {
		if len(p.Plan.Grow)+len(p.Plan.Shrink) > 0 {
			r.history.fail("refusal", "a spec that is wrong is acted on")
		}
		return
	}
	next := map[string]int{}
	for _, c := range p.Plan.Shrink {
		switch c := c.(type) {
		case plan.UpdateReplicaSet:
			next[c.From.Name] = replicas(c.To)
		case plan.DeleteReplicaSet:
			next[c.ReplicaSet.Name] = 0
			if replicas(c.ReplicaSet)+int(c.ReplicaSet.Status.Replicas) > 0 {
				r.history.fail("capacity", "%s is deleted with its pods", c.ReplicaSet.Name)
			}
		}
	}
	before, after := seen(p.Observed), 0
	for _, rs := range p.Observed.ReplicaSets {
		n, ok := next[rs.Name]
		if !ok {
			n = replicas(rs)
		}
		after += min(n, int(rs.Status.AvailableReplicas))
	}
	if after < min(before, least) {
		r.history.fail("decision", "of %d available pods %d would be left, and %d must be", before, after, least)
	}
}

// pure checks, now and then, that equal observations give equal plans.
func (r *rules) pure(p sim.Pass) {
	if r.passes%32 != 0 {
		return
	}
	if again := r.world.Controller().Next(p.Observed); !reflect.DeepEqual(again.Notes, p.Plan.Notes) || again.Writes() != p.Plan.Writes() {
		r.history.fail("purity", "the same observation gives another plan")
	}
}

// pauses checks that a pause lasts as long as it says.
func (r *rules) pauses(p sim.Pass) {
	if p.Plan.Record == nil {
		return
	}
	from, to := p.Plan.Record.From.Status, p.Plan.Record.To.Status
	for _, c := range to.PauseConditions {
		if len(from.PauseConditions) == 0 && c.StartTime.Time.Before(p.Observed.Now) {
			r.history.fail("pause", "a pause begins %s before it is written", p.Observed.Now.Sub(c.StartTime.Time))
		}
	}
	s, problems := spec.Resolve(p.Observed.Rollout)
	c, ok := s.Strategy.(spec.Canary)
	if !ok || len(problems) > 0 || len(from.PauseConditions) == 0 || from.CurrentStepIndex == nil || to.CurrentStepIndex == nil {
		return
	}
	if from.CurrentPodHash != to.CurrentPodHash || from.CurrentStepHash != to.CurrentStepHash || to.PromoteFull || from.PromoteFull || to.Abort || from.Abort {
		return
	}
	i := int(*from.CurrentStepIndex)
	if i >= len(c.Steps) || *to.CurrentStepIndex <= *from.CurrentStepIndex || from.StableRS == from.CurrentPodHash {
		return
	}
	if pause, ok := c.Steps[i].(spec.Pause); ok {
		if end := from.PauseConditions[0].StartTime.Add(pause.Duration); pause.Indefinite || p.Observed.Now.Before(end) {
			r.history.fail("pause", "step %d (%s) ends too early", i, pause)
		}
	}
}

// promotion checks that only a version that can carry everything becomes the stable one.
func (r *rules) promotion(p sim.Pass) {
	if p.Plan.Record == nil {
		return
	}
	from, to := p.Plan.Record.From.Status, p.Plan.Record.To.Status
	if from.StableRS == "" || from.StableRS == to.StableRS {
		return
	}
	s, _ := spec.Resolve(p.Observed.Rollout)
	c := s.Strategy.(spec.Canary)
	for _, rs := range p.Observed.ReplicaSets {
		if rs.Labels[v1alpha1.PodTemplateHashLabel] == to.StableRS && c.Threshold.Met(rs.Status.AvailableReplicas, s.Replicas) {
			return
		}
	}
	if s.Replicas > 0 {
		r.history.fail("promotion", "%s is promoted before its pods are available", to.StableRS)
	}
}

// people checks that what they want is respected: spec.paused freezes every size, and an abort stays until something newer comes.
func (r *rules) people(p sim.Pass) {
	ro := p.Observed.Rollout
	if ro.Spec.Paused && !ro.Status.Abort {
		for _, c := range slices.Concat(p.Plan.Grow, p.Plan.Shrink) {
			switch c := c.(type) {
			case plan.UpdateReplicaSet:
				if replicas(c.From) != replicas(c.To) {
					r.history.fail("people", "%s is scaled while spec.paused is set", c.From.Name)
				}
			case plan.CreateReplicaSet:
				if replicas(c.ReplicaSet) > 0 {
					r.history.fail("people", "%s gets pods while spec.paused is set", c.ReplicaSet.Name)
				}
			}
		}
	}
	if p.Plan.Record == nil {
		return
	}
	from, to := p.Plan.Record.From.Status, p.Plan.Record.To.Status
	begun := from.CurrentPodHash != to.CurrentPodHash || from.CurrentStepHash != to.CurrentStepHash
	if from.Abort && !to.Abort && !begun && !from.PromoteFull && to.StableRS != to.CurrentPodHash {
		r.history.fail("people", "an abort is forgotten")
	}
}

// events checks that nothing is told twice.
func (r *rules) events(p sim.Pass) {
	// Versions may grow by the same numbers, and one pause may follow another, at two steps: what counts is the step that the engine
	// knew of, and the one that it went on to.
	from, to := p.Observed.Rollout.Status, r.world.Rollout().Status
	step := fmt.Sprint(from.CurrentStepHash, stepIndex(from), stepIndex(to))
	for _, e := range p.Plan.Events {
		key := e.Reason + "|" + e.Message
		if e.Reason != v1alpha1.EventRolloutAborted && e.Reason != v1alpha1.EventRolloutCompleted { // an update ends once
			key += "|" + step
		}
		if r.told[key] {
			r.history.fail("events", "told twice: %s %s", e.Reason, e.Message)
		}
		r.told[key] = true
		if e.Reason == v1alpha1.EventRolloutAborted { // the engine's own turn: versions may change by the same numbers again
			r.told = map[string]bool{key: true}
		}
	}
}

func stepIndex(s v1alpha1.RolloutStatus) string {
	if s.CurrentStepIndex == nil {
		return "-"
	}
	return fmt.Sprintf("%d/", *s.CurrentStepIndex)
}

// rest checks that a rollout that sleeps will wake, unless it waits for a person.
func (r *rules) rest() {
	if r.history.fault != nil || !r.world.Due().IsZero() {
		return
	}
	ro := r.world.Rollout()
	switch s := ro.Status; s.Phase {
	case v1alpha1.RolloutPhaseHealthy, v1alpha1.RolloutPhaseDegraded:
	case v1alpha1.RolloutPhasePaused:
		if ro.Spec.Paused {
			return
		}
		if i := s.CurrentStepIndex; i == nil || int(*i) >= len(ro.Spec.Strategy.Canary.Steps) || ro.Spec.Strategy.Canary.Steps[*i].Pause == nil ||
			ro.Spec.Strategy.Canary.Steps[*i].Pause.Duration != nil {
			r.history.fail("wake", "a pause that ends by itself has nobody to wake it: %s", summary(r.world))
		}
		r.share()
	default:
		r.history.fail("wake", "nobody will look again: %s", summary(r.world))
	}
}

// end checks how everything ends.
func (r *rules) end() {
	ro := r.world.Rollout()
	s := ro.Status
	if s.StableRS != s.CurrentPodHash || s.Phase != v1alpha1.RolloutPhaseHealthy {
		r.history.fail("end", "%s", summary(r.world))
		return
	}
	old := 0
	for _, rs := range r.world.Observe(sim.View{}).ReplicaSets {
		if rs.Labels[v1alpha1.PodTemplateHashLabel] != s.CurrentPodHash {
			old++
			if replicas(rs) != 0 {
				r.history.fail("end", "%s still has pods", rs.Name)
			}
		} else if replicas(rs) != int(*ro.Spec.Replicas) {
			r.history.fail("end", "%s has %d pods of %d", rs.Name, replicas(rs), *ro.Spec.Replicas)
		}
	}
	if limit := int(*ro.Spec.RevisionHistoryLimit); old > limit {
		r.history.fail("end", "%d old ReplicaSets are kept, not %d", old, limit)
	}
	if r.world.Available() != int(*ro.Spec.Replicas) {
		r.history.fail("end", "%d pods of %d are available", r.world.Available(), *ro.Spec.Replicas)
	}
}

func replicas(rs *appsv1.ReplicaSet) int { return int(*rs.Spec.Replicas) }

func tellPass(p sim.Pass) string {
	text := fmt.Sprintf("stale=%t writes=%d conflict=%t crashed=%t unseen=%d, sees", p.Stale, p.Writes, p.Conflict, p.Crashed, p.Unseen)
	for _, rs := range p.Observed.ReplicaSets {
		text += fmt.Sprintf(" %s %d/%d", rs.Name, rs.Status.AvailableReplicas, replicas(rs))
	}
	for _, n := range p.Plan.Notes {
		text += fmt.Sprintf("\n        %-7s %s (%s)", n.Topic, n.Text, n.Reason)
	}
	return text
}
