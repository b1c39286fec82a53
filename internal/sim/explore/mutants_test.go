package explore

import (
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan"
)

// mutants are engines with a fault, made from the good one by changing what it sees or what it says.
var mutants = map[string]Engine{
	"trusts counts of another size":        sees(func(rs *appsv1.ReplicaSet) { rs.Status.ObservedGeneration = rs.Generation }),
	"takes ready pods for available ones":  sees(func(rs *appsv1.ReplicaSet) { rs.Status.AvailableReplicas = rs.Status.ReadyReplicas }),
	"takes pods for available ones":        sees(func(rs *appsv1.ReplicaSet) { rs.Status.AvailableReplicas = rs.Status.Replicas }),
	"takes wanted pods for available ones": sees(func(rs *appsv1.ReplicaSet) { rs.Status.AvailableReplicas = *rs.Spec.Replicas }),
	"forgets that growing pods take room":  sees(func(rs *appsv1.ReplicaSet) { *rs.Spec.Replicas = min(rs.Status.Replicas, *rs.Spec.Replicas) }),
	"sees only the two newest ReplicaSets": func(o plan.Observed) plan.Plan {
		o.ReplicaSets = o.ReplicaSets[max(0, len(o.ReplicaSets)-2):]
		return plan.Next(o)
	},
	"ends pauses early": func(o plan.Observed) plan.Plan {
		o.Now = o.Now.Add(3 * time.Second)
		return plan.Next(o)
	},
	"does not hear of spec.paused": edited(func(ro *v1alpha1.Rollout) { ro.Spec.Paused = false }),
	"does not hear of an abort":    edited(func(ro *v1alpha1.Rollout) { ro.Status.Abort = false }),
	"forgets that it paused":       edited(func(ro *v1alpha1.Rollout) { ro.Status.ControllerPause = false }),

	"never asks to be woken":         says(func(_ plan.Observed, p *plan.Plan) { p.Wake = time.Time{} }),
	"asks to be woken all the time":  says(func(o plan.Observed, p *plan.Plan) { p.Wake = o.Now }),
	"tells everything twice":         says(func(_ plan.Observed, p *plan.Plan) { p.Events = slices.Concat(p.Events, p.Events) }),
	"forgets nothing":                says(func(_ plan.Observed, p *plan.Plan) { p.Shrink = slices.DeleteFunc(p.Shrink, isDelete) }),
	"deletes what it should shrink":  says(func(_ plan.Observed, p *plan.Plan) { p.Shrink = eachUpdate(p.Shrink, deleteAtZero) }),
	"grows one pod too many":         says(func(_ plan.Observed, p *plan.Plan) { p.Grow = eachUpdate(p.Grow, resize(1)) }),
	"grows one pod too few":          says(func(_ plan.Observed, p *plan.Plan) { p.Grow = eachUpdate(p.Grow, resize(-1)) }),
	"shrinks one pod too far":        says(func(_ plan.Observed, p *plan.Plan) { p.Shrink = eachUpdate(p.Shrink, resize(-1)) }),
	"shrinks to nothing":             says(func(_ plan.Observed, p *plan.Plan) { p.Shrink = eachUpdate(p.Shrink, resize(-1000)) }),
	"never shrinks to nothing":       says(func(_ plan.Observed, p *plan.Plan) { p.Shrink = eachUpdate(p.Shrink, atLeastOne) }),
	"promotes as soon as it updates": records(func(_ plan.Observed, s *v1alpha1.RolloutStatus) { s.StableRS = s.CurrentPodHash }),
	"an abort leaves a promotion standing": records(func(o plan.Observed, s *v1alpha1.RolloutStatus) {
		s.PromoteFull = s.PromoteFull || s.Abort && o.Rollout.Status.PromoteFull
	}),
	"dates pauses back": records(func(_ plan.Observed, s *v1alpha1.RolloutStatus) { datePausesBack(s) }),
	"notes the time of every look": says(func(o plan.Observed, p *plan.Plan) {
		to := *o.Rollout
		if p.Record != nil {
			to = *p.Record.To
		}
		to.Status = *to.Status.DeepCopy()
		to.Status.Message = o.Now.String() + fmt.Sprint(o.Rollout.ResourceVersion)
		p.Record = &plan.Record{From: o.Rollout, To: &to}
	}),
}

// TestMutantsAreFound proves that the rules bite: every broken engine is found out in a few histories.
func TestMutantsAreFound(t *testing.T) {
	for name, engine := range mutants {
		t.Run(name, func(t *testing.T) {
			for seed := uint64(1); seed <= 2000; seed++ {
				if fault := Play(seed, engine, nil); fault != nil {
					t.Logf("found by seed %d: %s: %s", seed, fault.Rule, fault.Text)
					return
				}
			}
			t.Error("2000 histories and nobody noticed")
		})
	}
}

// sees is an engine that sees ReplicaSets otherwise than they are.
func sees(change func(*appsv1.ReplicaSet)) Engine {
	return func(o plan.Observed) plan.Plan {
		sets := make([]*appsv1.ReplicaSet, len(o.ReplicaSets))
		for i, rs := range o.ReplicaSets {
			sets[i] = rs.DeepCopy()
			change(sets[i])
		}
		o.ReplicaSets = sets
		return plan.Next(o)
	}
}

// edited is an engine that sees the Rollout otherwise than it is.
func edited(change func(*v1alpha1.Rollout)) Engine {
	return func(o plan.Observed) plan.Plan {
		ro := *o.Rollout
		change(&ro)
		o.Rollout = &ro
		return plan.Next(o)
	}
}

// says is an engine that says something else than it should.
func says(change func(plan.Observed, *plan.Plan)) Engine {
	return func(o plan.Observed) plan.Plan {
		p := plan.Next(o)
		change(o, &p)
		return p
	}
}

// records is an engine that writes down something else than it should, whenever it does.
func records(change func(plan.Observed, *v1alpha1.RolloutStatus)) Engine {
	return says(func(o plan.Observed, p *plan.Plan) {
		if p.Record != nil {
			to := *p.Record.To
			to.Status = *to.Status.DeepCopy()
			change(o, &to.Status)
			p.Record = &plan.Record{From: p.Record.From, To: &to}
		}
	})
}

func isDelete(c plan.Change) bool {
	_, ok := c.(plan.DeleteReplicaSet)
	return ok
}

func eachUpdate(changes []plan.Change, mutate func(plan.UpdateReplicaSet) plan.Change) []plan.Change {
	out := slices.Clone(changes)
	for i, c := range out {
		if u, ok := c.(plan.UpdateReplicaSet); ok {
			out[i] = mutate(u)
		}
	}
	return out
}

// resize adds to a size that changes anyway.
func resize(by int32) func(plan.UpdateReplicaSet) plan.Change {
	return func(u plan.UpdateReplicaSet) plan.Change {
		if *u.From.Spec.Replicas == *u.To.Spec.Replicas {
			return u
		}
		to := u.To.DeepCopy()
		*to.Spec.Replicas = max(0, *to.Spec.Replicas+by)
		u.To = to
		return u
	}
}

func atLeastOne(u plan.UpdateReplicaSet) plan.Change {
	to := u.To.DeepCopy()
	*to.Spec.Replicas = max(1, *to.Spec.Replicas)
	u.To = to
	return u
}

func deleteAtZero(u plan.UpdateReplicaSet) plan.Change {
	if *u.To.Spec.Replicas == 0 {
		return plan.DeleteReplicaSet{ReplicaSet: u.From, Reason: u.Reason}
	}
	return u
}

func datePausesBack(s *v1alpha1.RolloutStatus) {
	for i := range s.PauseConditions {
		s.PauseConditions[i].StartTime.Time = s.PauseConditions[i].StartTime.Add(-2 * time.Second)
	}
}
