package explain

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/view"
)

// Explanation is what there is to report about a Rollout.
type Explanation struct {
	Name     string    `json:"name"`
	Strategy string    `json:"strategy"`
	Time     time.Time `json:"time"`
	// Status and Message are the same as in `get rollout`.
	Status  string `json:"status"`
	Message string `json:"message,omitempty"`
	// Warnings are problems that do not block the update.
	Warnings []string `json:"warnings,omitempty"`
	// Step is the current step, such as "step 2 of 4 (pause: 1m)". Empty between updates and without steps.
	Step string `json:"step,omitempty"`
	// Refused is what keeps the engine from continuing at all.
	Refused []Decision `json:"refused,omitempty"`
	// Denied are the writes that the API server refused.
	Denied []Denial `json:"denied,omitempty"`
	// Waits are what the engine waits for and what it holds back.
	Waits []Decision `json:"waits,omitempty"`
	// Troubles are pods that are not ready, and why.
	Troubles []string `json:"troubles,omitempty"`
	// Analyses and experiments that are in progress.
	Running []string `json:"running,omitempty"`
	// Now is what the engine would do immediately. A running controller has done it already.
	Now []Decision `json:"now,omitempty"`
	// Next are the things that may happen next, the most likely first.
	Next []Future `json:"next,omitempty"`
}

// Decision is one decision of the engine, and its reason.
type Decision struct {
	What string `json:"what"`
	Why  string `json:"why,omitempty"`
	// Promise is the promise that holds it back; Why says until when. Empty if nothing does.
	Promise change.Promise `json:"promise,omitzero"`
}

// Future is what happens after an event.
type Future struct {
	When Event `json:"when"`
	// At is the time of the event, if it is due at a known time.
	At *time.Time `json:"at,omitempty"`
	// Does is what the engine does then, and Waits is what it waits for afterwards.
	Does  []Decision `json:"does,omitempty"`
	Waits []Decision `json:"waits,omitempty"`
}

// Event is something that may happen next.
type Event string

// The events that may happen next.
const (
	WritesAccepted Event = "WritesAccepted"
	TimePasses     Event = "TimePasses"
	PodsAvailable  Event = "PodsAvailable"
	Promoted       Event = "Promoted"
)

// Look adds what a plan needs to what was observed. It may be called for an imagined cluster; it then reports objects that
// do not exist as missing.
type Look func(*plan.Observed, change.Need) error

// Promote returns a Rollout as `promote` would leave it, nil if there is nothing to promote.
type Promote func(*v1alpha1.Rollout) *v1alpha1.Rollout

// After is what the engine does once a Rollout has been changed, and what it waits for then. When is left empty.
func After(seen plan.Observed, changed *v1alpha1.Rollout, look Look) (Future, error) {
	seen.Rollout = changed
	c, err := ahead(seen, look)
	return Future{Does: c.does, Waits: c.waits}, err
}

// Of explains a Rollout.
func Of(seen plan.Observed, objects view.Objects, look Look, promote Promote) (Explanation, error) {
	r := view.Of(objects, seen.Now)
	e := Explanation{
		Name: r.Name, Strategy: string(r.Strategy), Time: seen.Now, Status: r.Status.Text, Message: r.Status.Message,
		Warnings: r.Warnings, Troubles: troubles(r), Running: running(r), Denied: denials(seen.Rollout),
	}
	if failure := releaseFailure(seen.Rollout); failure != "" { // Denied reports it
		e.Warnings = slices.DeleteFunc(slices.Clone(e.Warnings), func(text string) bool { return text == failure })
	}
	seen.RouteRefusals = refusedReleases(seen, e.Denied)
	if s := r.CurrentStep(); s != nil && s.State == view.StepCurrent {
		e.Step = stepText(r, s)
	}
	now, err := ahead(seen, look)
	if err != nil {
		return Explanation{}, err
	}
	e.Refused, e.Now, e.Waits = now.refused, now.does, now.waits
	if len(e.Refused) > 0 {
		return e, nil
	}
	if isWithheld(seen.Rollout) && len(e.Now) > 0 { // the controller is running, and this is what it could not do
		e.Next = []Future{{When: WritesAccepted, Does: e.Now, Waits: e.Waits}}
		e.Now, e.Waits = nil, nil
		return e, nil
	}
	if n := r.Replicas; len(e.Waits) == 0 && n.Available < n.Desired {
		e.Waits = []Decision{{What: "pods", Why: fmt.Sprintf("%d of %d available", n.Available, n.Desired)}}
	}
	return e, e.lookAhead(now.world, now.wake, look, promote)
}

// hops is how many times the engine may wake up without doing anything before ahead stops: it also wakes up to check
// deadlines of others.
const hops = 16

// lookAhead computes what happens next, once nothing is left to do immediately.
func (e *Explanation) lookAhead(settled plan.Observed, wake time.Time, look Look, promote Promote) error {
	if imagined, changed := withPodsAvailable(settled); changed {
		if err := e.imagine(PodsAvailable, imagined, look); err != nil {
			return err
		}
	}
	if len(settled.RouteRefusals) > 0 {
		imagined := settled
		imagined.RouteRefusals = nil
		if err := e.imagine(WritesAccepted, imagined, look); err != nil {
			return err
		}
	}
	for range hops {
		if wake.IsZero() || !wake.After(settled.Now) || !wake.Before(e.Time.Add(horizon)) {
			break
		}
		later := settled
		later.Now = wake
		then, err := ahead(later, look)
		if err != nil {
			return err
		}
		if len(then.does) == 0 {
			then.does, then.waits = e.turns(then.world.Rollout), nil
		}
		if len(then.does) > 0 {
			e.Next = append(e.Next, Future{When: TimePasses, At: &wake, Does: then.does, Waits: then.waits})
			break
		}
		settled.Now, wake = wake, then.wake
	}
	settled.Now = e.Time
	paused := settled.Rollout.Spec.Paused || len(settled.Rollout.Status.PauseConditions) > 0
	if ro := promote(settled.Rollout); ro != nil && paused {
		imagined := settled
		imagined.Rollout = ro
		if err := e.imagine(Promoted, imagined, look); err != nil {
			return err
		}
	}
	slices.SortStableFunc(e.Next, func(a, b Future) int { return order(a) - order(b) })
	return nil
}

// turns reports a phase change that depends on time only, such as a deadline that passes.
func (e *Explanation) turns(ro *v1alpha1.Rollout) []Decision {
	if string(ro.Status.Phase) == e.Status {
		return nil
	}
	return []Decision{{What: "it becomes " + string(ro.Status.Phase), Why: ro.Status.Message}}
}

func (e *Explanation) imagine(when Event, imagined plan.Observed, look Look) error {
	then, err := ahead(imagined, look)
	if err == nil && len(then.does)+len(then.waits) == 0 {
		then.does = e.turns(then.world.Rollout)
	}
	if err == nil && len(then.does)+len(then.waits) > 0 {
		e.Next = append(e.Next, Future{When: when, Does: then.does, Waits: then.waits})
	}
	return err
}

// order: what blocks everything comes first, pods come before their deadline, and a pause that ends by itself comes before
// one that a user must end.
func order(f Future) int {
	switch f.When {
	case WritesAccepted:
		return 0
	case PodsAvailable:
		return 1
	case TimePasses:
		return 2
	case Promoted:
	}
	return 3
}

// withPodsAvailable is the cluster once all requested pods are available; false if they already are.
func withPodsAvailable(o plan.Observed) (plan.Observed, bool) {
	changed := false
	sets := make([]*appsv1.ReplicaSet, len(o.ReplicaSets))
	for i, rs := range o.ReplicaSets {
		want := int32(1)
		if rs.Spec.Replicas != nil {
			want = *rs.Spec.Replicas
		}
		if s := rs.Status; s.AvailableReplicas == want && s.Replicas == want {
			sets[i] = rs
			continue
		}
		changed = true
		rs = rs.DeepCopy()
		rs.Status.Replicas, rs.Status.ReadyReplicas, rs.Status.AvailableReplicas = want, want, want
		sets[i] = rs
	}
	o.ReplicaSets = sets
	return o, changed
}
