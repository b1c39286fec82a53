package controller_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

func TestCanaryFromFirstPodToHealthy(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	ns.StartController()
	ns.CreateRollout(canary(4, `{maxSurge: 1, maxUnavailable: 0, steps: [{setWeight: 25}, {pause: {duration: 1}}, {setWeight: 50}, {pause: {}}]}`))
	first := ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)

	ns.SetImage("web", "nginx:2")
	held := ns.WaitForRollout("web", "to pause at 50 %", playtest.AtStep(3))
	if s := held.Status; s.UpdatedReplicas != 2 || s.Replicas != 4 || s.StableRS != first.Status.CurrentPodHash {
		t.Errorf("at 50 %% of 4: %d updated of %d, stable %s; want 2 of 4, stable %s", s.UpdatedReplicas, s.Replicas, s.StableRS, first.Status.CurrentPodHash)
	}
	ns.PatchStatus("web", resume)
	last := ns.WaitForRollout("web", "to be Healthy again", playtest.Healthy)
	if last.Status.StableRS == first.Status.StableRS {
		t.Error("the stable version is still the first one")
	}

	ns.WaitForEvents("web",
		"NewReplicaSetCreated", "RolloutUpdated Rollout updated to revision 2",
		"RolloutStepCompleted Rollout step 1/4 completed (setWeight: 25)", "RolloutStepCompleted Rollout step 4/4 completed (pause)",
		"RolloutPaused Rollout is paused (CanaryPauseStep)", "RolloutResumed",
		"RolloutCompleted Rollout completed update to revision 2 ("+last.Status.CurrentPodHash+"): Completed all 4 canary steps",
	)
}

// Every transition has an event of its own, in the order in which they happen: exporters and notifications parse them.
func TestEachTransitionIsAnEvent(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	ns.StartController()
	ns.CreateRollout(canary(2, `{steps: [{setWeight: 50}, {setWeight: 60}, {pause: {}}]}`))
	first := ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	ns.SetImage("web", "nginx:2")
	held := ns.WaitForRollout("web", "to pause", playtest.AtStep(2))
	ns.PatchStatus("web", resume)
	ns.WaitForRollout("web", "to be Healthy again", playtest.Healthy)
	completed := "RolloutCompleted Rollout completed update to revision 2 (" + held.Status.CurrentPodHash + "): Completed all 3 canary steps"
	ns.WaitForEvents("web", "RolloutResumed")

	var transitions []string
	for _, event := range ns.Events("web") {
		if !strings.HasPrefix(event, "ScalingReplicaSet ") {
			transitions = append(transitions, event)
		}
	}
	want := []string{
		"RolloutUpdated Rollout updated to revision 1",
		"RolloutCompleted Rollout completed update to revision 1 (" + first.Status.CurrentPodHash + "): Initial deploy",
		"NewReplicaSetCreated Created ReplicaSet web-" + first.Status.CurrentPodHash + " (revision 1)",
		"RolloutUpdated Rollout updated to revision 2",
		"NewReplicaSetCreated Created ReplicaSet web-" + held.Status.CurrentPodHash + " (revision 2)",
		"RolloutNotCompleted Rollout not completed, started update to revision 2 (" + held.Status.CurrentPodHash + ")",
		"RolloutStepCompleted Rollout step 1/3 completed (setWeight: 50)",
		"RolloutStepCompleted Rollout step 2/3 completed (setWeight: 60)",
		"RolloutPaused Rollout is paused (CanaryPauseStep)",
		"RolloutStepCompleted Rollout step 3/3 completed (pause)",
		completed,
		"RolloutResumed Rollout is resumed",
	}
	if diff := cmp.Diff(want, transitions); diff != "" {
		t.Errorf("transitions (-want +got):\n%s", diff)
	}
}

// Autoscalers and people read the counts: pods that are there for two seconds and a half show while they are.
func TestCountsShowWhatIsThereForAMoment(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	ns.StartController()
	ns.CreateRollout(canary(4, `{maxSurge: 1, maxUnavailable: 0, steps: [{setWeight: 25}, {pause: {}}]}`))
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	counts := make(chan string, 1000)
	ctx, cancel := context.WithTimeout(ns.Context(), playtest.Patience) // ends the watch, and the counts with it
	defer cancel()
	watching, err := ns.Client.Watch(ctx, &v1alpha1.RolloutList{}, client.InNamespace(ns.Name))
	if err != nil {
		t.Fatal(err)
	}
	defer watching.Stop()
	go func() {
		defer close(counts)
		for e := range watching.ResultChan() {
			ro, ok := e.Object.(*v1alpha1.Rollout)
			if !ok {
				continue
			}
			counts <- fmt.Sprintf("%d pods, %d available", ro.Status.Replicas, ro.Status.AvailableReplicas)
			if playtest.AtStep(1)(ro) {
				return
			}
		}
	}()
	ns.Patch("web", `{"spec":{"template":{"metadata":{"annotations":{"playground.sluice.dev/ready-after":"2500ms"}}}}}`)
	ns.WaitForRollout("web", "to pause", playtest.AtStep(1))
	var seen []string
	for c := range counts {
		seen = append(seen, c)
	}
	if !slices.Contains(seen, "5 pods, 4 available") {
		t.Errorf("the fifth pod, which was not available for 2.5 s, was never counted: %q", seen)
	}
}

func TestAbortRetryAndPromoteInFull(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	ns.StartController()
	ns.CreateRollout(canary(4, `{steps: [{setWeight: 50}, {pause: {}}]}`))
	first := ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to pause", playtest.AtStep(1))

	ns.PatchStatus("web", `{"status":{"abort":true}}`)
	aborted := ns.WaitForRollout("web", "to be back on the stable version", func(ro *v1alpha1.Rollout) bool {
		return playtest.Degraded(ro) && ro.Status.UpdatedReplicas == 0 && ro.Status.AvailableReplicas == 4
	})
	if want := "RolloutAborted: Rollout aborted update to revision 2"; aborted.Status.Message != want {
		t.Errorf("message %q, want %q", aborted.Status.Message, want)
	}
	ns.PatchStatus("web", `{"status":{"abort":false}}`)
	ns.WaitForRollout("web", "to pause again", playtest.AtStep(1))
	ns.PatchStatus("web", `{"status":{"promoteFull":true}}`)
	ns.WaitForRollout("web", "to be Healthy on the second version", func(ro *v1alpha1.Rollout) bool {
		return playtest.Healthy(ro) && ro.Status.StableRS != first.Status.StableRS
	})
}

func TestRollbackInMidFlightSkipsTheSteps(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	ns.StartController()
	ns.CreateRollout(canary(3, `{steps: [{setWeight: 50}, {pause: {}}]}`))
	first := ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to pause", playtest.AtStep(1))
	ns.SetImage("web", "nginx:1")
	back := ns.WaitForRollout("web", "to be Healthy on the first version", playtest.Healthy)
	if back.Status.StableRS != first.Status.StableRS {
		t.Errorf("stable is %s, want %s", back.Status.StableRS, first.Status.StableRS)
	}
	if got := back.Annotations[v1alpha1.RevisionAnnotation]; got != "3" {
		t.Errorf("the version that came back has revision %s, want 3", got)
	}
	if sets := ns.ReplicaSets(); len(sets) != 2 {
		t.Errorf("%d ReplicaSets, want the two versions'", len(sets))
	}
}

func TestWhatCannotBeCarriedOutIsRefusedByName(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	ns.StartController()
	const router = `{canaryService: a, stableService: b, trafficRouting: {plugins: {argoproj-labs/gatewayAPI: {namespace: edge, tlsRouteSelector: {matchLabels: {app: web}}}}}}`
	ns.CreateRollout(canary(1, router))
	refused := ns.WaitForRollout("web", "to be refused", playtest.Degraded)
	if want := `plugins["argoproj-labs/gatewayAPI"].tlsRouteSelector: selects in the namespace of the Rollout only`; !strings.Contains(refused.Status.Message, want) {
		t.Errorf("message %q does not name %s", refused.Status.Message, want)
	}
	if n := len(ns.ReplicaSets()); n != 0 {
		t.Errorf("%d ReplicaSets were made all the same", n)
	}
	ns.Patch("web", `{"spec":{"strategy":{"canary":{"canaryService":null,"stableService":null,"trafficRouting":null}}}}`)
	ns.WaitForRollout("web", "to be Healthy once repaired", playtest.Healthy)
}

func TestATemplateThatTheAPIServerRefuses(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	ns.StartController()
	ns.CreateRollout(canary(2, `{}`))
	first := ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	ns.SetImage("web", "")
	refused := ns.WaitForRollout("web", "to say so", playtest.Degraded)
	if !strings.Contains(refused.Status.Message, "image: Required value") {
		t.Errorf("message %q does not say what the API server did", refused.Status.Message)
	}
	ns.Patch("web", `{"spec":{"replicas":3}}`)
	ns.WaitForRollout("web", "to scale what runs", func(ro *v1alpha1.Rollout) bool { return ro.Status.AvailableReplicas == 3 })
	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to be Healthy on the fixed template", func(ro *v1alpha1.Rollout) bool {
		return playtest.Healthy(ro) && ro.Status.StableRS != first.Status.StableRS
	})
}

func TestInstancesLeaveEachOtherAlone(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	ns.StartController("--instance-id", "blue")
	ns.CreateRollout(strings.Replace(canary(1, `{}`), "{name: web}", "{name: unmarked}", 1))
	marked := strings.Replace(canary(1, `{}`), "{name: web}", `{name: marked, labels: {argo-rollouts.argoproj.io/controller-instance-id: blue}}`, 1)
	ns.CreateRollout(strings.ReplaceAll(marked, "app: web", "app: marked"))
	ns.WaitForRollout("marked", "to be Healthy", playtest.Healthy)
	if ro := ns.Rollout("unmarked"); ro.Status.Phase != "" {
		t.Errorf("the controller of instance blue touched a Rollout without the label: phase %s", ro.Status.Phase)
	}
}
