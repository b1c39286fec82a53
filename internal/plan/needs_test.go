package plan_test

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// played is what there is to see after a script.
func played(t *testing.T, lines ...string) plan.Observed {
	t.Helper()
	return worldAfter(t, lines...).Observe(sim.View{})
}

// ready is the same when all pods that are wanted are there and available.
func ready(o plan.Observed) plan.Observed {
	for i, rs := range o.ReplicaSets {
		rs = rs.DeepCopy()
		rs.Status.Replicas, rs.Status.ReadyReplicas, rs.Status.AvailableReplicas = *rs.Spec.Replicas, *rs.Spec.Replicas, *rs.Spec.Replicas
		rs.Status.ObservedGeneration = rs.Generation
		o.ReplicaSets[i] = rs
	}
	return o
}

// Before a version loses its last pod the API server is asked which Services select it. A Rollout that names none costs no such request.
func TestWithoutServicesNoneAreRead(t *testing.T) {
	o := ready(played(t, "rollout web replicas=1 maxSurge=1 maxUnavailable=0", "settle", "set image v2"))
	if p := plan.Next(o); len(p.Shrink) != 1 || len(p.Needs) > 0 {
		t.Errorf("%d writes take pods away, want 1, and first is to be looked at: %v", len(p.Shrink), p.Needs)
	}
}

// An analysis that a user deleted is not terminated as well: that would be a write to an object that is being deleted.
func TestAnalysesThatGoAreNotEnded(t *testing.T) {
	o := played(t, `rollout web replicas=2 template=watch background=watch steps="weight 50; pause"`, "settle", "set image v2", "advance 20s")
	if len(o.AnalysisRuns) != 1 {
		t.Fatalf("%d analyses, want the one in the background", len(o.AnalysisRuns))
	}
	o.Rollout = o.Rollout.DeepCopy()
	o.Rollout.Status.Abort = true
	ended := func() bool {
		for _, c := range plan.Next(o).Judge {
			if _, ok := c.(change.TerminateAnalysisRun); ok {
				return true
			}
		}
		return false
	}
	if !ended() {
		t.Fatal("the abort does not end the analysis: the test shows nothing")
	}
	run := o.AnalysisRuns[0].DeepCopy()
	run.DeletionTimestamp = &metav1.Time{Time: o.Now}
	o.AnalysisRuns = []*v1alpha1.AnalysisRun{run}
	if ended() {
		t.Error("an analysis that is being deleted is ended")
	}
}

// Where the version that serves has no pod left, the first one of the version to go back to is better than none.
func TestOnePodIsBetterThanNone(t *testing.T) {
	o := played(t, "rollout web replicas=4 services=web-active blueGreen=web-active template=load post=load", "settle", "set image v2", "advance 30s")
	if got := o.Services[0].Spec.Selector[v1alpha1.PodTemplateHashLabel]; got != o.Rollout.Status.CurrentPodHash || got == o.Rollout.Status.StableRS {
		t.Fatalf("the Service selects %s: the new version does not serve yet", got)
	}
	o.Rollout = o.Rollout.DeepCopy()
	o.Rollout.Status.Abort = true
	for i, rs := range o.ReplicaSets {
		rs = rs.DeepCopy()
		rs.Status.AvailableReplicas, rs.Status.ReadyReplicas = 0, 0
		if hashOf(rs) == o.Rollout.Status.StableRS {
			rs.Status.AvailableReplicas, rs.Status.ReadyReplicas = 1, 1
		}
		o.ReplicaSets[i] = rs
	}
	p := plan.Next(o)
	if len(p.Route) != 1 || p.Route[0].(change.UpdateService).To.Spec.Selector[v1alpha1.PodTemplateHashLabel] != o.Rollout.Status.StableRS {
		t.Errorf("the Service stays where nobody answers: %v", p.Notes)
	}
}

// A delete carries the resourceVersion that was seen, and would conflict with a write of the same pass: the next pass deletes.
func TestNothingIsWrittenAndDeletedAtOnce(t *testing.T) {
	o := played(t, "rollout web replicas=1", "settle", "set image v2", "settle")
	o.Rollout = o.Rollout.DeepCopy()
	o.Rollout.Spec.RevisionHistoryLimit = new(int32)
	if p := plan.Next(o); len(p.Shrink) != 1 {
		t.Fatalf("%d old ReplicaSets are deleted, want 1: the test shows nothing", len(p.Shrink))
	}
	for i, rs := range o.ReplicaSets {
		if hashOf(rs) != o.Rollout.Status.StableRS {
			o.ReplicaSets[i] = rs.DeepCopy()
			spec.EphemeralMetadataOf(rs).Change(o.ReplicaSets[i], spec.Metadata{Labels: map[string]string{"role": "canary"}}, false)
		}
	}
	if p := plan.Next(o); len(p.Grow) != 1 || len(p.Shrink) > 0 {
		t.Errorf("%d writes and %d deletions of it in one pass, want the write alone", len(p.Grow), len(p.Shrink))
	}
}

// Before a version with a share of the traffic loses pods, the API server is asked for Services and routes, also where only the Services have been
// read for something else.
func TestRoutesAreReadAsWellAsServices(t *testing.T) {
	w := worldAfter(t, `rollout web replicas=6 router=gateway dynamicStableScale=true enforceMaxSurge=true maxSurge=0 maxUnavailable=1 steps="weight 74; pause"`,
		"settle", "set image v2")
	reads := func(o plan.Observed, services, routes bool) bool {
		o.ServicesLive, o.RoutesLive = services, routes
		return slices.Contains(plan.Next(o).Needs, change.Need(change.NeedLiveRouting{}))
	}
	o := ready(w.Observe(sim.View{}))
	for range 5 {
		if reads(o, false, false) {
			break
		}
		w.Apply(plan.Next(o), -1)
		o = ready(w.Observe(sim.View{}))
	}
	if !reads(o, false, false) || !reads(o, true, false) {
		t.Error("routes are not read before the stable version loses a pod")
	}
	if reads(o, true, true) {
		t.Error("what has been read is read again")
	}
}
