package plan_test

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/sim/script"
)

// worldAfter is the world after a script.
func worldAfter(t *testing.T, lines ...string) *sim.World {
	t.Helper()
	s := script.New()
	for _, line := range lines {
		if _, err := s.Run(line); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	return s.World
}

// Someone resumes the step's pause while spec.paused is set: that counts once spec.paused is cleared.
func TestAResumeCountsLater(t *testing.T) {
	w := worldAfter(t, `rollout web replicas=2 steps="weight 50; pause; weight 60; pause"`, "settle", "set image v2", "settle", "pause", "settle")
	pass := func() {
		for range 5 {
			w.Apply(plan.Next(w.Observe(sim.View{})), -1)
		}
	}
	w.EditStatus(func(s *v1alpha1.RolloutStatus) { s.PauseConditions = nil })
	pass()
	if at := *w.Rollout().Status.CurrentStepIndex; at != 1 {
		t.Fatalf("it is at step %d although spec.paused is set", at)
	}
	w.Edit(func(ro *v1alpha1.Rollout) { ro.Spec.Paused = false })
	pass()
	if at := *w.Rollout().Status.CurrentStepIndex; at < 2 {
		t.Errorf("it is at step %d: the resume is forgotten", at)
	}
}

// An old version beyond the history limit is kept while it is to have pods, even if none of them exists: someone has scaled it.
func TestHistoryKeepsWhatIsToHavePods(t *testing.T) {
	for _, pods := range []int32{0, 1} {
		o := played(t, "rollout web replicas=1 revisionHistoryLimit=1", "settle", "set image v2", "settle")
		o.Rollout.Spec.Paused = true
		o.Rollout.Spec.RevisionHistoryLimit = new(int32)
		var old string
		for i, rs := range o.ReplicaSets {
			if hashOf(rs) != o.Rollout.Status.StableRS {
				o.ReplicaSets[i] = rs.DeepCopy()
				o.ReplicaSets[i].Spec.Replicas = &pods
				old = rs.Name
			}
		}
		deleted := slices.ContainsFunc(plan.Next(o).Shrink, func(c change.Change) bool {
			d, ok := c.(change.DeleteReplicaSet)
			return ok && d.ReplicaSet.Name == old
		})
		if deleted != (pods == 0) {
			t.Errorf("%q with %d pods wanted is deleted: %t", old, pods, deleted)
		}
	}
}

// An update goes back to the version before, and in the same moment someone points the active Service there and sets the delay to 0: what is left of
// the delay still makes it a fast rollback, and the pass does not end it.
func TestAnEditedServiceDoesNotEndTheDelay(t *testing.T) {
	w := worldAfter(t, "rollout web replicas=1 services=web-active blueGreen=web-active", "settle", "set image v2", "advance 15s")
	before := w.Rollout().Status.StableRS
	old := func(sets []*appsv1.ReplicaSet) *appsv1.ReplicaSet {
		return sets[slices.IndexFunc(sets, func(rs *appsv1.ReplicaSet) bool { return hashOf(rs) != before })]
	}
	deadline := old(w.Observe(sim.View{}).ReplicaSets).Annotations[v1alpha1.ScaleDownDeadlineAnnotation]
	w.SetImage("v1")
	w.EditService("web-active", func(s *corev1.Service) {
		s.Spec.Selector[v1alpha1.PodTemplateHashLabel] = hashOf(old(w.Observe(sim.View{}).ReplicaSets))
	})
	w.Edit(func(ro *v1alpha1.Rollout) { ro.Spec.Strategy.BlueGreen.ScaleDownDelaySeconds = new(int32) })
	w.Apply(plan.Next(w.Observe(sim.View{})), -1)
	if got := old(w.Observe(sim.View{}).ReplicaSets).Annotations[v1alpha1.ScaleDownDeadlineAnnotation]; got != deadline || deadline == "" {
		t.Errorf("the delay until %q ends at %q", deadline, got)
	}
}
