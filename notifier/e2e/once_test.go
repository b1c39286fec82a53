package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/internal/playtest"
)

// Everything that happened is one message: an event that is reported once, each repetition of one, and each event that an earlier controller merged
// into one, also when the process is killed after the first message. One that only has a semicolon is a single message.
func TestEverythingThatHappenedIsOneMessage(t *testing.T) {
	ns := playtest.New(t)
	hooks, server := webhook(t, nil)
	configure(t, ns, "argo-rollouts", map[string]string{
		"service.webhook.hook":           "url: " + server.URL + "\ninsecureSkipVerify: true",
		"template.t":                     "webhook: {hook: {method: POST, body: '{{.event.message}}, {{.event.count}}.'}}",
		"trigger.on-rollout-paused":      "- send: [t]",
		"trigger.on-scaling-replica-set": "- send: [t]",
		"trigger.on-switch-service":      "- send: [t]",
	}, nil)
	ro := ns.CreateRollout(subscribed(`notifications.argoproj.io/subscribe.on-rollout-paused.hook: ""`,
		`notifications.argoproj.io/subscribe.on-scaling-replica-set.hook: ""`, `notifications.argoproj.io/subscribe.on-switch-service.hook: ""`))
	n := startNotifier(t, ns, nil)
	events := 0
	happen := func(reason, message string, count int32) *corev1.Event {
		t.Helper()
		events++
		e := paused(ns, ro, events)
		e.Reason, e.Message, e.Count = reason, message, count
		if err := ns.Client.Create(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		return e
	}
	ordinary := happen("RolloutPaused", "Rollout is paused (a)", 1)
	hooks.wait(t, "Rollout is paused (a), 1.")
	before := ordinary.DeepCopy()
	ordinary.Count = 2
	if err := ns.Client.Patch(t.Context(), ordinary, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	hooks.wait(t, "Rollout is paused (a), 2.")
	happen("ScalingReplicaSet", "Scaled up ReplicaSet a from 0 to 1; Scaled down ReplicaSet b from 2 to 1; Scaled up ReplicaSet a from 1 to 2", 3)
	happen("SwitchService", "Switched selector; whatever", 1)
	want := []string{
		"Rollout is paused (a), 1.", "Rollout is paused (a), 2.", "Switched selector; whatever, 1.", "Scaled up ReplicaSet a from 0 to 1, 1.",
		"Scaled down ReplicaSet b from 2 to 1, 2.", "Scaled up ReplicaSet a from 1 to 2, 3.",
	}
	hooks.wait(t, want[3])
	n.kill()
	n = startNotifier(t, ns, nil)
	for _, one := range want {
		hooks.wait(t, one)
	}
	happen("RolloutPaused", "Rollout is paused (b)", 1) // which comes last: what would be repeated was sent before it
	hooks.wait(t, "Rollout is paused (b), 1.")
	n.kill()
	if all := hooks.containing(""); len(all) > len(want)+2 {
		t.Errorf("%d messages, one of which may be that which was under way: %q", len(all), all)
	}
	for _, one := range want[:2] {
		if all := hooks.containing(one); len(all) != 1 {
			t.Errorf("%q came %d times", one, len(all))
		}
	}
}
