package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

// A pause that began and ended while no notifier ran is reported by the next one, and so is one whose message waited for a server when the
// process was killed. Those that were reported are not reported again.
func TestStatesThatEndedWhileNoNotifierRan(t *testing.T) {
	ns := playtest.New(t)
	var asked atomic.Int32
	var down atomic.Bool
	hooks, server := webhook(t, func(w http.ResponseWriter, _ *http.Request) bool {
		asked.Add(1)
		if down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return !down.Load()
	})
	configure(t, ns, "argo-rollouts", map[string]string{
		"service.webhook.hook": "url: " + server.URL + "\ninsecureSkipVerify: true",
		"template.t":           "webhook: {hook: {method: POST, body: '{{(index .rollout.spec.template.spec.containers 0).image}} {{.rollout.status.message}}, missed: {{with .missed}}yes{{else}}no{{end}}'}}",
		"trigger.on-paused":    "- when: rollout.status.phase == 'Paused'\n  send: [t]",
	}, nil)
	ns.StartController()
	n := startNotifier(t, ns, nil)
	ns.CreateRollout(subscribed(`notifications.argoproj.io/subscribe.on-paused.hook: ""`))
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	promote := func() {
		t.Helper()
		ns.PatchStatus("web", `{"status":{"pauseConditions":null}}`)
		ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	}
	pause := func(image string) {
		t.Helper()
		ns.SetImage("web", image)
		ns.WaitForRollout("web", "to pause", func(ro *v1alpha1.Rollout) bool {
			return playtest.Paused(ro) && ro.Status.ObservedGeneration == fmt.Sprint(ro.Generation)
		})
	}

	lease := &unstructured.Unstructured{}
	lease.SetAPIVersion("coordination.k8s.io/v1")
	lease.SetKind("Lease")
	ns.WaitUntil("the notifier", func() error {
		return ns.Client.Get(t.Context(), client.ObjectKey{Namespace: "argo-rollouts", Name: "sluice-notifier"}, lease)
	})
	n.kill()
	pause("nginx:2")
	pause("nginx:3")
	n = startNotifier(t, ns, nil)
	hooks.wait(t, "nginx:2 CanaryPauseStep, missed: yes")
	hooks.wait(t, "nginx:3 CanaryPauseStep, missed: no")
	ns.WaitForRollout("web", "to have the message recorded", func(ro *v1alpha1.Rollout) bool {
		return strings.Contains(ro.Annotations["notified.notifications.argoproj.io"], "on-paused:[0].")
	})
	n.kill()
	promote()

	pause("nginx:4")
	promote()
	n = startNotifier(t, ns, nil)
	hooks.wait(t, "nginx:4 CanaryPauseStep, missed: yes")
	ns.WaitForRollout("web", "to have it recorded that the pause is over", func(ro *v1alpha1.Rollout) bool {
		return strings.Contains(ro.Annotations["rollouts.argoproj.io/notified-before"], "on-paused:[0].")
	})

	down.Store(true)
	before := asked.Load()
	pause("nginx:5")
	ns.WaitUntil("an attempt to send it", func() error {
		if asked.Load() == before {
			return fmt.Errorf("none")
		}
		return nil
	})
	n.kill()
	promote()
	down.Store(false)
	n = startNotifier(t, ns, nil)
	hooks.wait(t, "nginx:5 CanaryPauseStep, missed: yes")
	n.kill()

	n = startNotifier(t, ns, nil)
	pause("nginx:6")
	hooks.wait(t, "nginx:6 CanaryPauseStep, missed: no")
	n.kill()
	want := "nginx:2 nginx:3 nginx:4 nginx:5 nginx:6"
	var got []string
	for _, m := range hooks.containing("CanaryPauseStep") {
		got = append(got, strings.Fields(m)[2])
	}
	// One that was under way when the process was killed may be repeated.
	if all := strings.Join(compacted(got), " "); all != want || len(got) > 6 {
		t.Errorf("messages about %v, want %s", got, want)
	}
}

// compacted leaves out what repeats the one before.
func compacted(all []string) []string {
	var once []string
	for i, s := range all {
		if i == 0 || all[i-1] != s {
			once = append(once, s)
		}
	}
	return once
}
