package controller_test

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

// upstreamsSet is a ReplicaSet as upstream's controller makes it (behaviour.md A3.2), with a hash that is not ours: an update of the
// controller, or another one, may compute another.
func upstreamsSet(ns *playtest.Namespace, ro *v1alpha1.Rollout, hash, image string, replicas int32, revision string) *appsv1.ReplicaSet {
	labels := map[string]string{"app": "web", v1alpha1.PodTemplateHashLabel: hash}
	template := *ro.Spec.Template.DeepCopy()
	template.Labels = labels
	template.Spec.Containers[0].Image = image
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: ns.Name, Name: "web-" + hash, Labels: labels,
			Annotations: map[string]string{
				v1alpha1.RevisionAnnotation: revision, v1alpha1.DesiredReplicasAnnotation: fmt.Sprint(*ro.Spec.Replicas),
			},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(ro, v1alpha1.RolloutGVK)},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas, Template: template,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
		},
	}
}

// TestTakeOver puts into the cluster what upstream's controller leaves behind in the middle of an update, paused at the second of
// four steps, and then starts ours: it goes on from that very step, with the ReplicaSets that are there, and without a pod less.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	ctx := t.Context()
	ro := ns.CreateRollout(canary(4, `{maxUnavailable: 0, maxSurge: 1, steps: [{setWeight: 25}, {pause: {}}, {setWeight: 50}, {pause: {}}]}`))
	newImage := ro.Spec.Template.Spec.Containers[0].Image
	stable := upstreamsSet(ns, ro, "6cf78c66c5", "nginx:0", 3, "1")
	next := upstreamsSet(ns, ro, "74f5d8c69b", newImage, 1, "2")
	for _, set := range []*appsv1.ReplicaSet{stable, next} {
		if err := ns.Client.Create(ctx, set); err != nil {
			t.Fatal(err)
		}
	}
	ns.Patch("web", `{"metadata": {"annotations": {"rollout.argoproj.io/revision": "2"}}}`)
	ro = ns.Rollout("web")
	began := time.Now().UTC().Truncate(time.Second).Format(time.RFC3339)
	condition := func(kind, status, reason, message string) string {
		return fmt.Sprintf(`{"type": %q, "status": %q, "reason": %q, "message": %q, "lastUpdateTime": %q, "lastTransitionTime": %q}`,
			kind, status, reason, message, began, began)
	}
	// currentStepHash is FNV-1a, encoded, of the steps in JSON: [{"setWeight":25},{"pause":{}},{"setWeight":50},{"pause":{}}].
	ns.PatchStatus("web", `{"status": {
		"HPAReplicas": 4, "availableReplicas": 4, "readyReplicas": 4, "replicas": 4, "updatedReplicas": 1, "selector": "app=web",
		"blueGreen": {}, "canary": {}, "stableRS": "6cf78c66c5", "currentPodHash": "74f5d8c69b", "currentStepHash": "674b64b78f", "currentStepIndex": 1,
		"controllerPause": true, "pauseConditions": [{"reason": "CanaryPauseStep", "startTime": "`+began+`"}],
		"observedGeneration": "`+fmt.Sprint(ro.Generation)+`", "phase": "Paused", "message": "CanaryPauseStep",
		"conditions": [`+condition("Available", "True", "AvailableReason", "Rollout has minimum availability")+`,
			`+condition("Completed", "False", "RolloutCompleted", "RolloutCompleted")+`,
			`+condition("Paused", "True", "RolloutPaused", "Rollout is paused")+`,
			`+condition("Progressing", "Unknown", "RolloutPaused", "Rollout is paused")+`]}}`)

	ns.StartController("--rollout-threads=1")
	ns.Marker()
	is := ns.Rollout("web")
	if !playtest.AtStep(1)(is) || is.Status.StableRS != "6cf78c66c5" || is.Status.CurrentPodHash != "74f5d8c69b" {
		t.Fatalf("taken over as step %d, phase %s (%s), stable %s, new %s", value(is.Status.CurrentStepIndex), is.Status.Phase, is.Status.Message,
			is.Status.StableRS, is.Status.CurrentPodHash)
	}
	for _, set := range ns.ReplicaSets() {
		if want := map[string]int32{stable.Name: 3, next.Name: 1}[set.Name]; metav1.IsControlledBy(&set, ro) && *set.Spec.Replicas != want {
			t.Errorf("%s has %d pods, want %d", set.Name, *set.Spec.Replicas, want)
		}
	}
	ns.PatchStatus("web", `{"status": {"pauseConditions": null}}`) // kubectl argo rollouts promote
	ns.WaitForRollout("web", "to pause at the next pause", playtest.AtStep(3))
	ns.PatchStatus("web", `{"status": {"pauseConditions": null}}`)
	ns.WaitForRollout("web", "to be Healthy", func(ro *v1alpha1.Rollout) bool {
		return playtest.Healthy(ro) && ro.Status.StableRS == "74f5d8c69b"
	})
	for _, set := range ns.ReplicaSets() {
		if metav1.IsControlledBy(&set, ro) && set.Name != stable.Name && set.Name != next.Name {
			t.Errorf("a third ReplicaSet was made: %s", set.Name)
		}
	}
}

func value(i *int32) int32 {
	if i == nil {
		return -1
	}
	return *i
}
