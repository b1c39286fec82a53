package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/slack-go/slack"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/notifier/config"
	"github.com/sluice-delivery/sluice/notifier/watch"
)

const shop = `
metadata:
  name: web
  namespace: shop
  uid: "1"
  annotations: {rollout.argoproj.io/revision: "2", rollouts.argoproj.io/link.commit: "https://git.example.com/c/1"}
spec:
  replicas: 4
  template: {spec: {containers: [{name: web, image: "web:2"}, {name: log, image: "a\"b"}]}}
  strategy: {canary: {steps: [{setWeight: 25}, {pause: {}}]}}
`

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// situations are Rollouts about which each trigger has something to say, with what has just happened to them.
var situations = []struct {
	name, status string
	events       []corev1.Event
}{
	{"waits for a user", "{phase: Paused, currentStepIndex: 1, stableRS: a, currentPodHash: b, pauseConditions: [{reason: CanaryPauseStep, startTime: '2026-11-23T11:00:00Z'}], duration: {rolloutStartedAt: '2026-11-23T10:50:00Z', manualPauseStartedAt: '2026-11-23T11:00:00Z'}}", nil},
	{"is slow", "{phase: Progressing, currentStepIndex: 0, availableReplicas: 3, duration: {rolloutStartedAt: '2026-11-23T11:30:00Z'}}", nil},
	{"is promoted", "{phase: Healthy, currentStepIndex: 2, duration: {rolloutStartedAt: '2026-11-23T11:30:00Z', finishedAt: '2026-11-23T11:59:59Z', completionStatus: Promoted}}", []corev1.Event{
		told("UserAction", "promoted by jane"), told("RolloutCompleted", "Rollout completed update to revision 2 (b): Completed all 2 canary steps"),
	}},
	{"is aborted", "{phase: Degraded, message: 'RolloutAborted: Rollout aborted update to revision 2', abortedAt: '2026-11-23T11:45:00Z', currentStepIndex: 0, stableRS: a, currentPodHash: b, duration: {rolloutStartedAt: '2026-11-23T11:30:00Z', finishedAt: '2026-11-23T11:45:00Z', completionStatus: Aborted}}", []corev1.Event{
		told("RolloutAborted", "Rollout aborted update to revision 2"),
	}},
	{"is rolled back", "{phase: Healthy, duration: {rolloutStartedAt: '2026-11-23T11:59:00Z', finishedAt: '2026-11-23T11:59:59Z', completionStatus: FastRolledBack}}", []corev1.Event{
		told("UserAction", "undone by joe <joe@example.com>"), told("RolloutCompleted", "Rollout completed update to revision 2 (b): Fast rollback"),
	}},
}

func told(reason, message string) corev1.Event {
	return corev1.Event{ObjectMeta: metav1.ObjectMeta{UID: "e"}, Reason: reason, Message: message, Type: "Normal", Count: 1, LastTimestamp: metav1.NewTime(noon)}
}

// exact is an object as the API has it, with whole numbers.
func exact(t *testing.T, text string) map[string]any {
	t.Helper()
	var o map[string]any
	content, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = utiljson.Unmarshal(content, &o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// Every trigger that Argo Rollouts' catalog does not have, about Rollouts that it concerns: the whole messages, for each service.
func TestMoreMessages(t *testing.T) {
	more, events := catalog(t, "more.yaml"), catalog(t, "cdevents.yaml")
	more.Dashboard = "https://rollouts.example.com"
	more.Services["chat"] = config.Service{Type: "slack", Name: "chat"}
	sent := map[string]int{}
	var b strings.Builder
	for _, s := range situations {
		fmt.Fprintf(&b, "##### a Rollout that %s\n", s.name)
		for _, c := range []*config.Config{more, events} {
			rollout := &unstructured.Unstructured{Object: exact(t, shop+"status: "+s.status)}
			annotations := rollout.GetAnnotations()
			if c == more {
				for name := range c.Triggers {
					annotations["notifications.argoproj.io/subscribe."+name+".chat"] = "all"
				}
			}
			rollout.SetAnnotations(annotations)
			var runs []any
			if s.name == "is aborted" {
				runs = []any{exact(t, run)}
			}
			stable := exact(t, `spec: {containers: [{name: web, image: "web:1"}]}`)
			all, wrong := watch.NewTry(c).At(t.Context(), watch.With(rollout, runs, stable), s.events, noon)
			if len(wrong) > 0 {
				t.Error(wrong)
			}
			for _, due := range all {
				if due.Error != "" {
					t.Errorf("%s, %s: %s", s.name, due.Trigger, due.Error)
				}
				if due.Message == nil {
					continue
				}
				sent[due.Trigger]++
				fmt.Fprintf(&b, "### %s\n%s", due.Trigger, written(t, due))
			}
		}
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(more.Triggers)), slices.Collect(maps.Keys(events.Triggers))) {
		if sent[name] == 0 {
			t.Errorf("no Rollout of this test leads to a message of %s", name)
		}
	}
	compare(t, "testdata/more.txt", b.String())
}

// written is a message as YAML, with the JSON in it set out.
func written(t *testing.T, due watch.Due) string {
	t.Helper()
	n := *due.Message
	if n.Slack != nil {
		var attachments []slack.Attachment
		if err := json.Unmarshal([]byte(n.Slack.Attachments), &attachments); err != nil || len(attachments[0].Blocks.BlockSet) == 0 {
			t.Fatalf("%s: %v in\n%s", due.Trigger, err, n.Slack.Attachments)
		}
		n.Slack.Attachments = setOut(t, n.Slack.Attachments)
	}
	if n.Teams != nil {
		n.Teams.Facts, n.Teams.PotentialAction = setOut(t, n.Teams.Facts), setOut(t, n.Teams.PotentialAction)
	}
	for _, w := range n.Webhook {
		if got := setOut(t, w.Body); got != "" {
			return w.Method + " " + got + "\n"
		}
	}
	text, err := yaml.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func setOut(t *testing.T, text string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	out, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func compare(t *testing.T, golden, got string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("run with -rewrite if this is right (-want +got):\n%s", diff)
	}
}
