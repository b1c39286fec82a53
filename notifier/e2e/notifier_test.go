package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

// configure writes the configuration into the controller's namespace, and removes it when the test ends.
func configure(t *testing.T, ns *playtest.Namespace, namespace string, data, secrets map[string]string) {
	t.Helper()
	objects := []client.Object{
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "argo-rollouts-notification-secret"}, StringData: secrets},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "argo-rollouts-notification-configmap"}, Data: data},
	}
	for _, o := range objects {
		if err := ns.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, o := range objects {
			_ = ns.Client.Delete(context.Background(), o)
		}
	})
}

const rollout = `
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata:
  name: web
  annotations:
%s
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "nginx:1"}]
  strategy:
    canary: {steps: [{setWeight: 50}, {pause: {}}]}
`

// What people have set up with Argo Rollouts works as it is: Slack, e-mail and a webhook, for events and for states, each message once, also
// when the process is killed in between.
func TestMessagesOfAnUpdate(t *testing.T) {
	ns := playtest.New(t)
	hooks, server := webhook(t, nil)
	channel, slackURL := slack(t, "xoxb-1")
	mails, port := mailbox(t)
	configure(t, ns, "argo-rollouts", map[string]string{
		"service.slack":                "token: $slack-token\napiURL: " + slackURL,
		"service.email":                "host: 127.0.0.1\nport: " + port + "\nfrom: sluice@example.com",
		"service.webhook.ops":          "url: " + server.URL + "\nheaders: [{name: X-Key, value: $slack-token}]",
		"service.broken.a.b":           "x",
		"template.done":                "message: Rollout {{.rollout.metadata.name}} is done\nemail: {subject: \"{{.rollout.metadata.name}} done\"}\nslack: {attachments: '[{\"title\": \"{{ .rollout.metadata.name }}\"}]'}",
		"template.hook":                "webhook: {ops: {method: POST, path: '/{{.rollout.metadata.namespace}}', body: '{{.trigger}} {{.rollout.status.phase}}'}}",
		"template.broken":              "message: '{{.rollout'",
		"trigger.on-rollout-completed": "- send: [done]",
		"trigger.on-paused":            "- when: rollout.status.phase == 'Paused'\n  send: [hook]",
		"trigger.on-broken":            "- when: rollout.status.phase ==\n  send: [hook]",
		"subscriptions":                "- {recipients: ['email:all@example.com'], triggers: [on-rollout-completed], selector: 'none=none'}\n- {selector: '((('}",
	}, map[string]string{"slack-token": "xoxb-1"})
	ns.StartController()
	trust := []string{"SSL_CERT_FILE=" + certificate(t, server)}
	n := startNotifier(t, ns, trust)
	ns.CreateRollout(fmt.Sprintf(rollout, `
    notifications.argoproj.io/subscribe.on-rollout-completed.slack: deploys
    notifications.argoproj.io/subscribe.on-rollout-completed.email: me@example.com
    notifications.argoproj.io/subscribe.on-paused.ops: ""
    notifications.argoproj.io/subscribe.on-broken.ops: ""
    example.com/foreign: x`))
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)

	if got := channel.wait(t, "web is done"); !strings.HasPrefix(got, "deploys Rollout web is done [{") || !strings.Contains(got, `"title":"web"`) {
		t.Errorf("Slack got %q", got)
	}
	if got := mails.wait(t, "me@example.com"); !strings.Contains(got, "me@example.com web done Rollout web is done") {
		t.Errorf("the mailbox got %q", got)
	}

	ns.SetImage("web", "nginx:2")
	hooks.wait(t, "POST /"+ns.Name+" on-paused Paused")
	ns.WaitForRollout("web", "to have the message recorded", func(ro *v1alpha1.Rollout) bool {
		return strings.Contains(ro.Annotations["notified.notifications.argoproj.io"], "on-paused:[0].")
	})
	n.kill()
	n = startNotifier(t, ns, trust)
	ns.PatchStatus("web", `{"status":{"pauseConditions":null}}`)
	ns.WaitForRollout("web", "to be Healthy, and the pause to be forgotten", func(ro *v1alpha1.Rollout) bool {
		return playtest.Healthy(ro) && !strings.Contains(ro.Annotations["notified.notifications.argoproj.io"], "on-paused")
	})
	ns.SetImage("web", "nginx:3") // the second update pauses, too
	ns.WaitForRollout("web", "to pause", playtest.Paused)
	ns.WaitUntil("two messages of pauses", func() error {
		if all := hooks.containing("on-paused"); len(all) != 2 {
			return fmt.Errorf("%d messages", len(all))
		}
		return nil
	})
	want := []string{"deploys", "deploys"} // the first version and the second
	ns.WaitUntil("a message for each completed update", func() error {
		var got []string
		for _, m := range channel.containing("web is done") {
			got = append(got, strings.Fields(m)[0])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("-want +got:\n%s", diff)
		}
		return nil
	})
	n.kill()
}
