package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

// shipped is what config/notifications has in a file, with some keys replaced.
func shipped(t *testing.T, name string, over map[string]string) map[string]string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(playtest.Root(), "config/notifications", name))
	if err != nil {
		t.Fatal(err)
	}
	var configMap corev1.ConfigMap
	if err := yaml.UnmarshalStrict(content, &configMap); err != nil {
		t.Fatal(err)
	}
	maps.Copy(configMap.Data, over)
	return configMap.Data
}

// said writes the event that the dashboard writes when someone does something.
func said(t *testing.T, ns *playtest.Namespace, message string) {
	t.Helper()
	ro := ns.Rollout("web")
	now := metav1.Now()
	err := ns.Client.Create(t.Context(), &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: ns.Name, Name: fmt.Sprintf("web.%x", now.UnixNano())},
		InvolvedObject: corev1.ObjectReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Rollout", Namespace: ns.Name, Name: "web", UID: ro.UID},
		Reason:         v1alpha1.EventUserAction, Message: message, Type: "Normal", Count: 1, FirstTimestamp: now, LastTimestamp: now,
		Source: corev1.EventSource{Component: "sluice-dashboard"}, ReportingController: "sluice-dashboard",
	})
	if err != nil {
		t.Fatal(err)
	}
}

// page reads a page of the notifier.
func page(t *testing.T, address string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What Argo Rollouts' catalog does not have: who promoted and who rolled back, what waits for a user and is degraded for too long, CDEvents, and the
// keys of DORA, each update counted once although the process is killed in between.
func TestWhoDidWhatAndHowOften(t *testing.T) {
	ns := playtest.New(t)
	channel, slackURL := slack(t, "xoxb-1")
	collector, server := webhook(t, func(_ http.ResponseWriter, r *http.Request) bool {
		body, err := io.ReadAll(r.Body) // the notifier also reports the last hour of Rollouts that other tests left
		return err == nil && strings.Contains(string(body), ns.Name+"/web")
	})
	data := shipped(t, "more.yaml", map[string]string{
		"service.slack": "token: xoxb-1\napiURL: " + slackURL, "sluice.dashboardURL": "https://rollouts.example.com",
		"trigger.on-waiting-for-user": "- when: waiting.user\n  send: [waiting-for-user, details]",
		"trigger.on-degraded-long":    "- when: degraded.since != ''\n  send: [degraded-long, details]",
	})
	maps.Copy(data, shipped(t, "cdevents.yaml", map[string]string{"service.webhook.cdevents": "url: " + server.URL + "\ninsecureSkipVerify: true"}))
	configure(t, ns, "argo-rollouts", data, nil)
	ns.StartController()
	port := fmt.Sprint(ns.FreePort())
	health := fmt.Sprint(ns.FreePort())
	n := startNotifier(t, ns, nil, "--metrics-port="+port, "--healthz-port="+health, "--per-object-metrics")
	for _, probe := range []string{"healthz", "readyz"} {
		ns.WaitUntil("an answer to the probe "+probe, func() error {
			if got := page(t, "http://127.0.0.1:"+health+"/"+probe); got != "ok" {
				return fmt.Errorf("%s", got)
			}
			return nil
		})
	}
	var lines []string
	for _, trigger := range []string{"on-waiting-for-user", "on-degraded-long", "on-promoted", "on-rolled-back", "on-user-action"} {
		lines = append(lines, "notifications.argoproj.io/subscribe."+trigger+".slack: deploys")
	}
	ns.CreateRollout(subscribed(append(lines, `rollouts.argoproj.io/commit-time: "`+metav1.Now().UTC().Format("2006-01-02T15:04:05Z")+`"`)...))
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	collector.wait(t, "dev.cdevents.service.deployed.0.2.0")

	ns.SetImage("web", "nginx:2")
	if got := channel.wait(t, "has been waiting for a user"); !strings.Contains(got, "https://rollouts.example.com/rollout/"+ns.Name+"/web/promote") {
		t.Errorf("no button to promote in %s", got)
	}
	if out, err := sluice(t, ns.Kubeconfig, "promote", "web", "-n", ns.Name); err != nil {
		t.Fatal(err, out)
	}
	channel.wait(t, "Rollout web: promoted by ")
	channel.wait(t, "Rollout web has been promoted by ")
	event := collector.wait(t, "dev.cdevents.service.upgraded.0.2.0")
	var cloud struct {
		SpecVersion, ID, Source, Type, Subject string
		Data                                   struct{ Context, Subject map[string]any }
	}
	_, body, _ := strings.Cut(event, " / ")
	if err := json.Unmarshal([]byte(body), &cloud); err != nil {
		t.Fatal(err)
	}
	if cloud.SpecVersion != "1.0" || cloud.Source != "/clusters/example" || cloud.Subject != ns.Name+"/web" || cloud.Data.Context["id"] != cloud.ID {
		t.Errorf("%+v", cloud)
	}
	n.kill()
	port = fmt.Sprint(ns.FreePort())
	n = startNotifier(t, ns, nil, "--metrics-port="+port, "--per-object-metrics")

	ns.SetImage("web", "nginx:3")
	ns.WaitForRollout("web", "to pause", func(ro *v1alpha1.Rollout) bool {
		return playtest.Paused(ro) && ro.Status.ObservedGeneration == fmt.Sprint(ro.Generation)
	})
	ns.PatchStatus("web", `{"status":{"abort":true}}`)
	said(t, ns, "aborted by joe")
	channel.wait(t, "Rollout web has been rolled back by joe.")
	channel.wait(t, "Rollout web has been degraded for")
	collector.wait(t, "dev.cdevents.service.rolledback.0.2.0")
	incident := collector.wait(t, "dev.cdevents.incident.detected.0.2.0")
	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	resolved := collector.wait(t, "dev.cdevents.incident.resolved.0.2.0")
	subject := func(event string) string {
		_, after, _ := strings.Cut(event, `"subject":"`)
		before, _, _ := strings.Cut(after, `"`)
		return before
	}
	if subject(incident) == "" || subject(incident) != subject(resolved) {
		t.Errorf("the incident is %q when it begins, and %q when it ends", subject(incident), subject(resolved))
	}
	labels := `{name="web",namespace="` + ns.Name + `"`
	want := []string{
		`sluice_deployments_total` + labels + `,result="aborted"} 1`,
		`sluice_deployments_total` + labels + `,result="rolledback"} 0`,
		`sluice_deployments_total` + labels + `,result="succeeded"} 0`, // those before the process was killed are its metrics'
		`sluice_deployment_recovery_seconds_count` + labels + `} 1`,
	}
	ns.WaitUntil("the metrics", func() error {
		var got []string
		for line := range strings.Lines(page(t, "http://127.0.0.1:"+port+"/metrics")) {
			if strings.HasPrefix(line, "sluice_deployments_total") || strings.HasPrefix(line, "sluice_deployment_recovery_seconds_count") {
				got = append(got, strings.TrimSpace(line))
			}
		}
		if diff := cmp.Diff(sorted(want), sorted(got)); diff != "" {
			return fmt.Errorf("-want +got:\n%s", diff)
		}
		return nil
	})
	n.kill()
	for _, once := range []string{"service.deployed", "service.upgraded", "incident.resolved"} {
		if got := collector.containing(once); len(got) > 2 {
			t.Errorf("%s came %d times", once, len(got))
		}
	}
}
