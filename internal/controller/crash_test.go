package controller_test

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

// TestC5KilledAtAnyMoment kills the controller again and again while it updates. Whatever it had written by then, the one that
// comes after it must end where an undisturbed one would, and never leave the limits on the way.
func TestC5KilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	const seed = 1
	random := rand.New(rand.NewPCG(seed, seed))
	ns := playtest.New(t)
	ns.StartController()
	ns.CreateRollout(canary(5, `{maxSurge: 1, maxUnavailable: 1, steps: [{setWeight: 20}, {pause: {duration: 1}}, {setWeight: 60}, {pause: {duration: 1}}]}`))
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)

	history := ns.Record()
	ns.SetImage("web", "nginx:2")
	history.KillWhileMoving(random, 8, 6)
	done := ns.WaitForRollout("web", "to be Healthy on the second version", func(ro *v1alpha1.Rollout) bool {
		return playtest.Healthy(ro) && ro.Annotations[v1alpha1.RevisionAnnotation] == "2"
	})
	if n := len(ns.ReplicaSets()); n != 2 {
		t.Errorf("%d ReplicaSets, want 2", n)
	}
	for _, p := range history.Stop() {
		if p.Available() < 5-1 {
			t.Errorf("%d pods were available, fewer than 5 less maxUnavailable 1, at %s", p.Available(), p)
		}
		if p.Desired() > 5+1 {
			t.Errorf("%d pods were asked for, more than 5 and maxSurge 1, at %s", p.Desired(), p)
		}
	}
	if done.Status.Abort || len(done.Status.PauseConditions) > 0 {
		t.Errorf("left over in the status: abort %t, pauses %v", done.Status.Abort, done.Status.PauseConditions)
	}
}

// TestC11SettledMeansNoWrites leaves settled rollouts alone for a minute, in which the controller is restarted: it must find
// nothing to write.
func TestC11SettledMeansNoWrites(t *testing.T) {
	t.Parallel()
	for name, manifest := range map[string]string{
		"canary":     canary(2, `{steps: [{setWeight: 50}]}`),
		"blue-green": blueGreen(2, `{activeService: active, previewService: preview, scaleDownDelaySeconds: 1}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := playtest.NewEarly(t)
			createServices(t, ns, "active", "preview")
			ns.StartController()
			ns.CreateRollout(manifest)
			ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
			ns.SetImage("web", "nginx:2")
			ns.WaitForRollout("web", "to be Healthy again, without old pods", func(ro *v1alpha1.Rollout) bool {
				return playtest.Healthy(ro) && ro.Annotations[v1alpha1.RevisionAnnotation] == "2" && ro.Status.Replicas == 2
			})
			ns.WaitForPodsToGo()

			history := ns.Record()
			if !history.Quiet(20 * time.Second) {
				t.Error("something was written under the controller that had done the update")
			}
			ns.StopController(syscall.SIGTERM)
			ns.StartController()
			if !history.Quiet(40 * time.Second) {
				t.Error("something was written under the controller that came after it")
			}
			points := history.Stop()
			for _, p := range points[1:] {
				t.Logf("written: %s", p)
			}
		})
	}
}
