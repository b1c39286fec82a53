package e2e

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/internal/playtest"
)

// subscribed is a Rollout with these subscriptions, one a line.
func subscribed(lines ...string) string {
	return fmt.Sprintf(rollout, "    "+strings.Join(lines, "\n    "))
}

// A server that fails, throttles and hangs gets each message in the end, though the process is killed again and again in between; and one
// that works does not wait for it.
func TestC23MessagesAreNotLost(t *testing.T) {
	ns := playtest.New(t)
	var mu sync.Mutex
	asked := 0
	trouble, bad := webhook(t, func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		asked++
		turn := asked
		mu.Unlock()
		switch turn {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		case 3:
			<-r.Context().Done() // until the process is killed
		default:
			return true
		}
		return false
	})
	fine, good := webhook(t, nil)
	configure(t, ns, "argo-rollouts", map[string]string{
		"service.webhook.bad": "url: " + bad.URL + "\ninsecureSkipVerify: true", "service.webhook.good": "url: " + good.URL + "\ninsecureSkipVerify: true",
		"template.t":                   "webhook:\n  bad: {method: POST, body: '{{.event.reason}} {{.event.message}}'}\n  good: {method: POST, body: '{{.event.reason}} {{.event.message}}'}",
		"trigger.on-rollout-completed": "- send: [t]", "trigger.on-rollout-updated": "- send: [t]",
	}, nil)
	ns.StartController()
	n := startNotifier(t, ns, nil)
	ns.CreateRollout(subscribed(
		`notifications.argoproj.io/subscriptions: '[{trigger: [on-rollout-completed, on-rollout-updated], destinations: [{service: bad, recipients: [""]}, {service: good, recipients: [""]}]}]'`,
	))
	fine.wait(t, "RolloutCompleted")
	ns.WaitUntil("the third attempt", func() error {
		mu.Lock()
		defer mu.Unlock()
		if asked < 3 {
			return fmt.Errorf("%d attempts", asked)
		}
		return nil
	})
	for range 3 {
		n.kill()
		n = startNotifier(t, ns, nil)
	}
	trouble.wait(t, "RolloutUpdated")
	trouble.wait(t, "RolloutCompleted")
	n.kill()
	// Killed right after a message, the next process may repeat the one under way, and no more.
	for _, reason := range []string{"RolloutUpdated", "RolloutCompleted"} {
		if got := len(fine.containing("POST / " + reason)); got < 1 || got > 2 {
			t.Errorf("%d messages of %s", got, reason)
		}
	}
}

// A namespace that configures notifications itself uses its own Secret, and neither sees nor breaks another's.
func TestSelfService(t *testing.T) {
	ns := playtest.New(t)
	ns.Apply(filepath.Join(playtest.Root(), "config/notifications/rbac.yaml"))
	ns.Apply(filepath.Join(playtest.Root(), "config/notifications/self-service.yaml"))
	t.Cleanup(func() {
		for _, o := range []client.Object{
			&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "sluice-notifier-self-service"}},
			&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "sluice-notifier-self-service"}},
		} {
			_ = ns.Client.Delete(context.Background(), o)
		}
	})
	hooks, server := webhook(t, nil)
	insecure := "url: " + server.URL + "\ninsecureSkipVerify: true"
	configure(t, ns, "argo-rollouts", map[string]string{
		"service.webhook.central":      insecure,
		"template.t":                   "webhook: {central: {method: POST, body: 'central {{.secrets.key | toString}}'}}",
		"trigger.on-rollout-completed": "- send: [t]",
	}, map[string]string{"key": "of-the-operator"})
	configure(t, ns, ns.Name, map[string]string{
		"service.webhook.mine": insecure, "service.slack": "{", "template.bad": "{{", "trigger.on-healthy": "- when: rollout.status.phase == 'Healthy'\n  send: [t]",
		"template.t":                   "webhook: {mine: {method: POST, body: 'mine {{range $k, $v := .secrets}}{{$k}}={{$v | toString}} {{end}}'}}",
		"trigger.on-rollout-completed": "- send: [t]",
	}, map[string]string{"own": "of-the-tenant"})
	ns.StartController()
	n := startNotifier(t, ns, nil, "--self-service-notification-enabled")
	ns.CreateRollout(subscribed(
		`notifications.argoproj.io/subscribe.on-rollout-completed.mine: ""`,
		`notifications.argoproj.io/subscribe.on-rollout-completed.central: ""`,
		`notifications.argoproj.io/subscribe.on-healthy.mine: "state"`,
	))
	hooks.wait(t, "POST / central of-the-operator")
	hooks.wait(t, "POST / mine own=of-the-tenant")
	ns.WaitUntil("the message of the event and that of the state", func() error {
		if got := hooks.containing("mine"); len(got) != 2 {
			return fmt.Errorf("%q", got)
		}
		return nil
	})
	for _, m := range hooks.containing("mine") {
		if strings.Contains(m, "operator") {
			t.Errorf("a namespace's template shows the operator's Secret: %s", m)
		}
	}
	want := ns.Name + ":on-healthy:[0]."
	if ro := ns.Rollout("web"); !strings.Contains(ro.Annotations["notified.notifications.argoproj.io"], want) {
		ns.WaitUntil("the key with the namespace", func() error {
			if a := ns.Rollout("web").Annotations["notified.notifications.argoproj.io"]; !strings.Contains(a, want) {
				return fmt.Errorf("%s", a)
			}
			return nil
		})
	}
	n.kill()
}
