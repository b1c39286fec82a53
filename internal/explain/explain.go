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

// Explanation is what there is to say about a Rollout.
type Explanation struct {
	Name     string    `json:"name"`
	Strategy string    `json:"strategy"`
	Time     time.Time `json:"time"`
	// Status and Message are as `get rollout` shows them.
	Status  string `json:"status"`
	Message string `json:"message,omitempty"`
	// Warnings are what hurts although it holds nothing up.
	Warnings []string `json:"warnings,omitempty"`
	// Step is the one that the update is at, such as "step 2 of 4 (pause: 1m)". Empty between updates and where there are none.
	Step string `json:"step,omitempty"`
	// Refused is what keeps the engine from going on at all.
	Refused []Decision `json:"refused,omitempty"`
	// Denied are the writes that the API server refused.
	Denied []Denial `json:"denied,omitempty"`
	// Waits are what the engine waits for, and what it holds back.
	Waits []Decision `json:"waits,omitempty"`
	// Troubles are pods that are not ready, and why.
	Troubles []string `json:"troubles,omitempty"`
	// Analyses and experiments that are under way.
	Running []string `json:"running,omitempty"`
	// Now is what the engine would do at once. A controller that is at work has done it already.
	Now []Decision `json:"now,omitempty"`
	// Next are the things that may happen next, the likeliest first.
	Next []Future `json:"next,omitempty"`
}

// Decision is one thing that the engine decides, and its reason.
type Decision struct {
	What string `json:"what"`
	Why  string `json:"why,omitempty"`
	// Promise is what holds it back; Why says until when. Empty where nothing does.
	Promise change.Promise `json:"promise,omitzero"`
}

// Future is what follows when something happens.
type Future struct {
	When Event `json:"when"`
	// At is the time of it, where it is time itself that makes it happen.
	At *time.Time `json:"at,omitempty"`
	// Does is what the engine does then, and Waits what it waits for after that.
	Does  []Decision `json:"does,omitempty"`
	Waits []Decision `json:"waits,omitempty"`
}

// Event is what may happen next.
type Event string

// What may happen next.
const (
	WritesAccepted Event = "WritesAccepted"
	TimePasses     Event = "TimePasses"
	PodsAvailable  Event = "PodsAvailable"
	Promoted       Event = "Promoted"
)

// Look adds to what was observed what a plan needs to see. It may be asked about a world that is only imagined; what is not there is
// then to be reported as not there.
type Look func(*plan.Observed, change.Need) error

// Promote is what `promote` would leave of a Rollout, nil if there is nothing to promote.
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
	if failure := releaseFailure(seen.Rollout); failure != "" { // Denied says it
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
	if isWithheld(seen.Rollout) && len(e.Now) > 0 { // the controller is at work, and this is what it could not do
		e.Next = []Future{{When: WritesAccepted, Does: e.Now, Waits: e.Waits}}
		e.Now, e.Waits = nil, nil
		return e, nil
	}
	if n := r.Replicas; len(e.Waits) == 0 && n.Available < n.Desired {
		e.Waits = []Decision{{What: "pods", Why: fmt.Sprintf("%d of %d available", n.Available, n.Desired)}}
	}
	return e, e.lookAhead(now.world, now.wake, look, promote)
}

// hops is how many times the engine is woken in vain before that is given up: it also wakes to look whether somebody else was late.
const hops = 16

// lookAhead asks what happens next, from a world in which nothing is left to do at once.
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

// turns tells of a phase that comes by time alone, as when a deadline passes.
func (e *Explanation) turns(ro *v1alpha1.Rollout) []Decision {
	if string(ro.Status.Phase) == e.Status {
		return nil
	}
	return []Decision{{What: "it counts as " + string(ro.Status.Phase), Why: ro.Status.Message}}
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

// order: what holds all back ends first, pods come before a deadline for them, and a pause ends by itself before somebody must end it.
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

// withPodsAvailable is the world when all pods that are asked for are available; false if they are.
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
