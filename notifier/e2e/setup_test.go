package e2e

import (
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/internal/playtest"
)

// A set-up that was written for Argo Rollouts is applied as it is: its catalog, services of three kinds, default triggers, the ConfigMap's own
// subscriptions, all three forms of annotations, secrets and times in templates, and oncePer.
func TestASetUpOfArgoRollouts(t *testing.T) {
	ns := playtest.New(t)
	hooks, server := webhook(t, nil)
	channel, slackURL := slack(t, "xoxb-1")
	mails, port := mailbox(t)
	content, err := os.ReadFile("testdata/setup.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("SLACK_URL", slackURL, "HOOK_URL", server.URL, "SMTP_PORT", port).Replace(string(content))
	documents := strings.Split(text, "\n---\n")
	if len(documents) != 3 {
		t.Fatalf("%d documents", len(documents))
	}
	var configMap corev1.ConfigMap
	var secret corev1.Secret
	for i, into := range []any{&configMap, &secret} {
		if err := yaml.UnmarshalStrict([]byte(documents[i]), into); err != nil {
			t.Fatal(err)
		}
	}
	data := shipped(t, "catalog.yaml", nil)
	maps.Copy(data, configMap.Data)
	configure(t, ns, "argo-rollouts", data, secret.StringData)
	ns.StartController()
	n := startNotifier(t, ns, []string{"SSL_CERT_FILE=" + certificate(t, server)})
	ns.CreateRollout(documents[2])
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to pause", playtest.Paused)

	for _, want := range []string{
		"deploys Rollout web has been completed. [{",   // subscribe.TRIGGER.SERVICE
		"everybody Rollout web has been updated. [{",   // the ConfigMap's subscriptions
		"on-call Rollout web has been paused. [{",      // the list in an annotation
		"defaults Rollout web has been completed. [{",  // subscribe.SERVICE
		"second Rollout web has been completed. [{",    // two recipients in one annotation
		"on-call Step 1 of rollout web is completed. ", // two triggers in one element
	} {
		channel.wait(t, want)
	}
	if got := mails.wait(t, "me@example.com"); !strings.Contains(got, "me@example.com Rollout web has been completed. Rollout web has been completed.") {
		t.Errorf("the mailbox got %q", got)
	}
	hooks.wait(t, "POST /base/"+ns.Name+` {"state": "Paused", "key": "k3y", "service": "ops", "trigger": "web", "year": true}`)
	// A pause that begins again for the same version is not announced again, by oncePer.
	ns.PatchStatus("web", `{"status":{"pauseConditions":null}}`)
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	n.kill()
	if got := hooks.containing(`"state": "Paused"`); len(got) != 1 {
		t.Errorf("%d messages with oncePer: %q", len(got), got)
	}
	for _, once := range []string{"everybody Rollout web has been updated.", "on-call Rollout web has been paused."} {
		if got := channel.containing(once); len(got) > 2 {
			t.Error(fmt.Sprint(once, " came ", len(got), " times"))
		}
	}
}
