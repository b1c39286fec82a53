package explore

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluice-delivery/sluice/internal/sim/script"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/plan/move"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// rules check a history while it goes on.
type rules struct {
	history *history
	world   *sim.World
	read    reading
	// honest: plans are held to what they say.
	honest bool

	capacity
	switches
	weights weights

	// told are the events since something happened from outside.
	told      map[string]bool
	passes    int
	lastWrite time.Time
	// tightened: the pass follows a larger minReadySeconds.
	tightened bool
	// seen is the Rollout that the pass decided on, written the one before its last write.
	seen, written *v1alpha1.Rollout
	// superseded is the restart that an update has taken the place of.
	superseded *metav1.Time
	// busy counts the passes in one instant.
	busy int
	at   time.Time
	// meddled: something happened from outside between what the pass decided and its end.
	meddled bool
	// acting: a pass is under way, and time may pass between its writes; points: it is to point a Service elsewhere.
	acting, points bool
}

// before notes how things are just before something happens from outside.
func (r *rules) before() { r.look() }

// during allows for what happens from outside in the middle of a pass that switches a Service: pods that go before that, and serve behind it.
func (r *rules) during(move func()) {
	available, serving := r.world.Available(), r.servingNow()
	move()
	if !r.points {
		return
	}
	r.missing += max(0, available-r.world.Available()-max(0, serving-r.servingNow()))
}

// after allows for what happened from outside.
func (r *rules) after() {
	r.lost()
	r.allow(r.now())
	r.seeEdit()
	r.seeHand()
	r.told = map[string]bool{}
	r.busy, r.meddled = 0, true
}

// watch is called after everything that happens in the world.
func (r *rules) watch() {
	r.surge()
	if drained := r.world.Drained - r.drained; drained > 0 {
		r.kept(fmt.Sprintf("%d available pods were scaled away", drained))
		r.look()
	} else {
		r.lost()
	}
	r.catchUp()
}

// wrote is called after each write of the controller: nothing else happens between two of one pass, and still each must do no harm.
func (r *rules) wrote() {
	r.lastWrite = r.world.Now()
	r.collide()
	if r.tightened {
		r.lost()
	}
	r.kept("a write")
	r.heard()
	r.seeSwitch()
	r.reachable()
	r.seeWeights()
	r.look()
}

// plan checks what the controller decided, before it is done.
func (r *rules) plan(p sim.Pass) {
	r.meddled, r.acting, r.points = false, r.history.Shell, points(p.Plan)
	s, ok := r.resolve(p.Observed.Rollout, p.Observed.Workload)
	r.allow(resolved{s, ok})
	unseen := p.Unseen
	if at := p.Observed.Rollout.Spec.RestartAt; at != nil && p.Observed.Now.Before(at.Time) { // or it has looked at the pods themselves
		unseen += p.UnseenEvictions
	}
	r.served[p.Observed.Rollout.Status.StableRS] = true                           // if anything did
	r.missing = max(r.missing, unseen+max(0, r.floor-seenToServe(s, p.Observed))) // what it saw, without what it could not know to be gone
	r.tightened, r.seen, r.written = tightens(p.Plan), p.Observed.Rollout, r.world.Rollout()
	if !ok {
		if len(p.Plan.Grow)+len(p.Plan.Route)+len(p.Plan.Shrink) > 0 {
			r.history.fail("refusal", "a spec that is wrong is acted on")
		}
		return
	}
	r.decision(p, s)
	r.gates(p, s)
	r.delays(p, s)
	r.carried(p, s)
	r.hands(p, s)
}

// write is called before each write of tier two's shell: between a decision and its writes other things may happen.
func (r *rules) write(p sim.Pass) {
	r.unfenced, r.desired = p.LeadLost, r.world.Desired()
	r.tightened, r.points, r.written = tightens(p.Plan), points(p.Plan), r.world.Rollout()
	if p.Observed.Rollout != nil {
		r.seen = p.Observed.Rollout
	}
}

// heard checks that a write does not undo what a person asked for meanwhile.
func (r *rules) heard() {
	if r.seen == nil {
		return // it gave back what a Rollout used that is gone
	}
	seen, was, is := r.seen.Status, r.written.Status, r.world.Rollout().Status
	if was.Abort && !seen.Abort && !is.Abort || was.PromoteFull && !seen.PromoteFull && !is.PromoteFull {
		r.history.fail("people", "what was asked for is overwritten before it was heard")
	}
	r.written = r.world.Rollout()
}

// tightens reports whether a plan follows a larger minReadySeconds, which makes available pods unavailable: the user who sets it asks
// for that.
func tightens(p plan.Plan) bool {
	return slices.ContainsFunc(slices.Concat(p.Grow, p.Shrink), func(c change.Change) bool {
		u, ok := c.(change.UpdateReplicaSet)
		return ok && u.To.Spec.MinReadySeconds > u.From.Spec.MinReadySeconds
	})
}

// points reports whether a plan points a Service elsewhere.
func points(p plan.Plan) bool {
	return slices.ContainsFunc(p.Route, func(c change.Change) bool {
		u, ok := c.(change.UpdateService)
		return ok && selected(u.From) != selected(u.To)
	})
}

// pass checks what was written down, and told.
func (r *rules) pass(p sim.Pass) {
	r.acting, r.points = false, false
	r.passes++
	if r.history.telling {
		r.history.log("%s pass %s; there are %s", r.world.Elapsed(), tellPass(p), r.world.Pods())
	}
	if a := p.Plan.Record; a != nil && (a.From.Status.CurrentPodHash != a.To.Status.CurrentPodHash || a.From.Status.CurrentStepHash != a.To.Status.CurrentStepHash) {
		r.superseded = r.world.Rollout().Spec.RestartAt
	}
	if r.passes%32 == 0 {
		r.pure(p)
	}
	if r.honest {
		r.plausible(p)
	}
	r.trust(p)
	r.people(p)
	r.events(p)
	if s, ok := r.resolve(p.Observed.Rollout, p.Observed.Workload); ok && p.Plan.Record != nil {
		r.pauses(p, s)
		r.steps(p, s)
		r.promotion(p, s)
		r.dressed(p, s)
		r.answered(p, s)
	}
	if p.Idle != "" {
		r.history.fail("fixpoint", "%s", p.Idle)
	}
	if p.Garbled != "" {
		r.history.fail("record", "%s", p.Garbled)
	}
	if r.world.Now().Equal(r.at) {
		r.busy++
	} else {
		r.at, r.busy = r.world.Now(), 0
	}
	if r.busy > 150 {
		r.history.fail("convergence", "150 passes in one instant: %s", summary(r.world))
	}
}

// people checks that what they want is respected: spec.paused freezes every size, an abort stays until something newer comes, and gives
// the new version nothing more.
func (r *rules) people(p sim.Pass) {
	ro := p.Observed.Rollout
	if ro.Spec.Paused && !ro.Status.Abort {
		for _, c := range slices.Concat(p.Plan.Grow, p.Plan.Shrink) {
			if update, ok := c.(change.UpdateReplicaSet); ok && replicas(update.From) != replicas(update.To) {
				r.history.fail(move.Frozen.Name, "%s is scaled while spec.paused is set", update.From.Name)
			}
			if creation, ok := c.(change.CreateReplicaSet); ok && replicas(creation.ReplicaSet) > 0 {
				r.history.fail(move.Frozen.Name, "%s gets pods while spec.paused is set", creation.ReplicaSet.Name)
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
	if to.Abort && from.Abort && from.AbortedAt != nil && !begun && find(p.Observed, to.StableRS) != nil {
		for _, c := range p.Plan.Grow {
			if u, ok := c.(change.UpdateReplicaSet); ok && hashOf(u.To) == to.CurrentPodHash && replicas(u.To) > replicas(u.From) {
				r.history.fail("people", "%s grows although its update was aborted", u.To.Name)
			}
		}
	}
}

// events checks that nothing is told twice.
func (r *rules) events(p sim.Pass) {
	// Versions may grow by the same numbers, and one pause may follow another, at two steps: what counts is the step that the engine
	// knew of, and the one that it went on to.
	if p.Crashed || r.meddled || r.history.Shell && p.Conflict && p.Writes > 0 { // and so what it did is not told, but may be undone
		r.told = map[string]bool{}
	}
	from, to := p.Observed.Rollout.Status, r.world.Rollout().Status
	step := fmt.Sprint(from.CurrentPodHash, to.CurrentPodHash, from.CurrentStepHash, stepIndex(from), stepIndex(to))
	for _, e := range p.Plan.Events {
		key := e.Reason + "|" + e.Message
		if undone := opposite(e); undone != nil {
			maps.DeleteFunc(r.told, func(key string, _ bool) bool { return undone(key) })
		}
		if e.Reason != v1alpha1.EventRolloutAborted && e.Reason != v1alpha1.EventRolloutCompleted { // an update ends once
			key += "|" + step
		}
		if e.Reason == v1alpha1.ReasonInvalidSpec && !invalid(p.Observed.Rollout, e.Message) {
			delete(r.told, key)
		}
		if r.told[key] {
			r.history.fail("events", "told twice: %s %s", e.Reason, e.Message)
		}
		r.told[key] = true
		if e.Reason == v1alpha1.EventRolloutAborted { // the engine's own turn: versions may change by the same numbers again
			r.told = map[string]bool{key: true}
		}
	}
	if r.meddled { // someone may have reverted between two writes what was reported after the last one, and then it is done again
		r.told = map[string]bool{}
	}
}

// invalid reports whether a Rollout says that its spec is, with these words.
func invalid(ro *v1alpha1.Rollout, message string) bool {
	return slices.ContainsFunc(ro.Status.Conditions, func(c v1alpha1.RolloutCondition) bool {
		return c.Type == v1alpha1.ConditionInvalidSpec && strings.HasPrefix(c.Message, message)
	})
}

// opposite selects what an event makes possible to be told again: what is paused again may be resumed again. It may be nil.
func opposite(e change.Event) (undone func(told string) bool) {
	words := strings.Fields(e.Message)
	after := func(start string) func(string) bool {
		return func(told string) bool { return strings.HasPrefix(told, start) }
	}
	switch {
	case e.Reason == v1alpha1.ReasonRolloutPaused:
		return after(v1alpha1.ReasonRolloutResumed)
	case e.Reason == v1alpha1.EventTrafficWeightUpdated && words[3] == "from": // "Traffic weight updated from 5 to 0": it may come back to 5
		return func(told string) bool {
			return strings.HasPrefix(told, e.Reason+"|Traffic weight updated from ") && strings.Contains(told, " to "+words[4]+"|")
		}
	case e.Reason == v1alpha1.EventSwitchService: // "Switched selector for service 'web' from 'a' to 'b'"
		return after(fmt.Sprintf("%s|Switched selector for service %s from %s to %s|", e.Reason, words[4], words[8], words[6]))
	case e.Reason == v1alpha1.EventScalingReplicaSet && words[1] == "up":
		return after(e.Reason + "|Scaled down ReplicaSet " + words[3])
	case e.Reason == v1alpha1.EventScalingReplicaSet:
		return after(e.Reason + "|Scaled up ReplicaSet " + words[3])
	}
	return nil
}

func stepIndex(s v1alpha1.RolloutStatus) string {
	if s.CurrentStepIndex == nil {
		return "-"
	}
	return fmt.Sprintf("%d/", *s.CurrentStepIndex)
}

// reading is the last spec that was resolved: it is asked for again and again.
type reading struct {
	rollout  *v1alpha1.Rollout
	workload metav1.Object
	resolved
}

// resolved is a spec, and whether nothing is wrong with it.
type resolved struct {
	spec spec.Rollout
	ok   bool
}

func (r *rules) resolve(ro *v1alpha1.Rollout, workload metav1.Object) (spec.Rollout, bool) {
	if r.read.rollout != ro || r.read.workload != workload {
		written, problems := spec.WithWorkload(ro, workload)
		s, others := spec.Resolve(written)
		others = append(others, spec.Policy{}.Problems(s)...)
		r.read = reading{ro, workload, resolved{s, len(problems)+len(others) == 0}}
	}
	return r.read.spec, r.read.ok
}

// now is the spec as it is.
func (r *rules) now() resolved {
	var workload metav1.Object
	if d := r.world.Deployment(); d != nil && r.world.Rollout().Spec.WorkloadRef != nil {
		workload = d
	}
	s, ok := r.resolve(r.world.Rollout(), workload)
	return resolved{s, ok}
}

func replicas(rs *appsv1.ReplicaSet) int { return int(*rs.Spec.Replicas) }

func hashOf(rs *appsv1.ReplicaSet) string { return rs.Labels[v1alpha1.PodTemplateHashLabel] }

// find is the ReplicaSet of a version in an observation, nil if there is none.
func find(o plan.Observed, hash string) *appsv1.ReplicaSet {
	for _, rs := range o.ReplicaSets {
		if hash != "" && hashOf(rs) == hash {
			return rs
		}
	}
	return nil
}

func tellPass(p sim.Pass) string {
	text := fmt.Sprintf("stale=%t writes=%d conflict=%t crashed=%t unseen=%d, sees", p.Stale, p.Writes, p.Conflict, p.Crashed, p.Unseen)
	for _, rs := range p.Observed.ReplicaSets {
		text += fmt.Sprintf(" %s %d/%d", rs.Name, rs.Status.AvailableReplicas, replicas(rs))
	}
	for _, n := range p.Plan.Notes {
		text += fmt.Sprintf("\n        %-7s %s (%s)", n.Topic, n.Text, script.Because(n))
	}
	return text
}
