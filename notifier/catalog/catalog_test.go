// Package catalog tests config/notifications/catalog.yaml: each message as people get it.
package catalog

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/notifier/config"
	"github.com/sluice-delivery/sluice/notifier/facts"
)

var rewrite = flag.Bool("rewrite", false, "write what the templates give into testdata")

func catalog(t *testing.T, name string) *config.Config {
	t.Helper()
	content, err := os.ReadFile("../../config/notifications/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var configMap corev1.ConfigMap
	if err := yaml.UnmarshalStrict(content, &configMap); err != nil {
		t.Fatal(err)
	}
	c := config.Parse(&configMap, nil)
	if len(c.Problems) > 0 {
		t.Fatal(c.Problems)
	}
	return c
}

const (
	web = `
metadata: {name: web, namespace: shop, annotations: {rollouts.argoproj.io/link.commit: "https://git.example.com/c/1"}}
spec:
  replicas: 4
  template: {spec: {containers: [{name: web, image: "web:2"}, {name: log, image: "a\"b"}]}}
`
	canary    = web + "  strategy: {canary: {steps: [{setWeight: 25}, {pause: {}}]}}\nstatus: {phase: Paused, currentStepIndex: 1, updatedReplicas: 1, pauseConditions: [{reason: CanaryPauseStep, startTime: '2026-11-23T10:00:00Z'}]}\n"
	blueGreen = web + "  strategy: {blueGreen: {activeService: web}}\nstatus: {phase: Progressing, message: more replicas need to be updated}\n"
	bare      = "metadata: {name: new}\nspec: {strategy: {canary: {}}}\n"
	run       = `
metadata: {name: web-1-success}
spec: {metrics: [{name: success-rate, successCondition: "result[0] >= 0.95"}]}
status:
  phase: Failed
  metricResults:
  - {name: success-rate, phase: Failed, message: "", measurements: [{phase: Successful, value: "[1]"}, {phase: Failed, value: "[0.91]"}]}
`
)

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var o map[string]any
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// Every template of the catalogue, for a canary, a blue-green Rollout, and one that has nothing yet.
func TestGoldenMessages(t *testing.T) {
	c := catalog(t, "catalog.yaml")
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c.Templates)) {
		for _, kind := range []struct{ name, text string }{{"canary", canary}, {"blue-green", blueGreen}, {"without a status", bare}} {
			rollout := object(t, kind.text)
			n, err := c.Render([]string{name}, map[string]any{
				"rollout": rollout, "explain": facts.Explain(rollout, nil), "analysis": facts.Failing([]any{object(t, run)}),
			})
			if err != nil {
				t.Errorf("%s, %s: %v", name, kind.name, err)
				continue
			}
			if n.Email.Subject != n.Message {
				t.Errorf("%s: the subject is %q", name, n.Email.Subject)
			}
			var attachments []map[string]any
			if err := json.Unmarshal([]byte(n.Slack.Attachments), &attachments); err != nil {
				t.Errorf("%s, %s: %v in\n%s", name, kind.name, err, n.Slack.Attachments)
				continue
			}
			fmt.Fprintf(&b, "# %s, %s\n%s\n%s %s\n", name, kind.name, n.Message, attachments[0]["color"], attachments[0]["title"])
			for _, f := range attachments[0]["fields"].([]any) {
				field := f.(map[string]any)
				fmt.Fprintf(&b, "  %s: %s\n", field["title"], field["value"])
			}
		}
	}
	compare(t, "testdata/messages.txt", b.String())
}

// The catalogue has Argo Rollouts' names.
func TestNames(t *testing.T) {
	c := catalog(t, "catalog.yaml")
	want := map[string]string{
		"on-rollout-updated": "rollout-updated", "on-rollout-step-completed": "rollout-step-completed", "on-rollout-paused": "rollout-paused",
		"on-rollout-completed": "rollout-completed", "on-rollout-aborted": "rollout-aborted", "on-scaling-replica-set": "scaling-replicaset",
		"on-analysis-run-running": "analysis-run-running", "on-analysis-run-failed": "analysis-run-failed", "on-analysis-run-error": "analysis-run-error",
	}
	got := map[string]string{}
	for name, conditions := range c.Triggers {
		got[name] = strings.Join(conditions[0].Send, ",")
		if !config.OfEvents(name) {
			t.Errorf("%s is not named after an event", name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
