package facts

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// parsed is an object as the API has it, with whole numbers.
func parsed(t *testing.T, text string) map[string]any {
	t.Helper()
	var object map[string]any
	content, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = json.Unmarshal(content, &object)
	}
	if err != nil {
		t.Fatal(err)
	}
	return object
}

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// What triggers ask about how long something lasts, and how a message says it.
func TestLasting(t *testing.T) {
	const steps = "spec: {replicas: 4, strategy: {canary: {steps: [{setWeight: 25}, {pause: {}}, {pause: {duration: 30m}}]}}}\n"
	type answer struct {
		Waits, Degraded, Step int64
		User, Late            bool
		Kind, Explain         string
	}
	for name, c := range map[string]struct {
		rollout string
		runs    []string
		stepped string
		want    answer
	}{
		"a healthy one": {rollout: "status: {phase: Healthy, duration: {rolloutStartedAt: '2026-11-23T10:00:00Z', finishedAt: '2026-11-23T11:00:00Z'}}"},
		"one that waits for a user": {
			rollout: steps + "status: {phase: Paused, currentStepIndex: 1, pauseConditions: [{reason: CanaryPauseStep, startTime: '2026-11-23T11:00:00Z'}], duration: {rolloutStartedAt: '2026-11-23T10:00:00Z', manualPauseStartedAt: '2026-11-23T11:00:00Z'}}",
			want:    answer{Waits: 3600, User: true, Step: 7200, Kind: "pause", Explain: "It waits for a user to promote it, at a pause step, since 2026-11-23T11:00:00Z (step 2 of 3: pause)"},
		},
		"the same by Argo Rollouts, which says nothing of its duration": {
			rollout: steps + "status: {phase: Paused, currentStepIndex: 1, pauseConditions: [{reason: CanaryPauseStep, startTime: '2026-11-23T11:00:00Z'}]}",
			want:    answer{Waits: 3600, User: true, Explain: "It waits for a user to promote it, at a pause step, since 2026-11-23T11:00:00Z (step 2 of 3: pause)"},
		},
		"a pause that ends by itself": {
			rollout: steps + "status: {phase: Paused, currentStepIndex: 2, pauseConditions: [{reason: CanaryPauseStep, startTime: '2026-11-23T11:45:00Z'}], duration: {rolloutStartedAt: '2026-11-23T10:00:00Z'}}",
			stepped: "2026-11-23T11:45:00Z",
			want:    answer{Step: 900, Kind: "pause", Explain: "It waits at a pause step, since 2026-11-23T11:45:00Z (step 3 of 3: pause)"},
		},
		"the same by Argo Rollouts": {
			rollout: steps + "status: {phase: Paused, currentStepIndex: 2, pauseConditions: [{reason: CanaryPauseStep, startTime: '2026-11-23T11:45:00Z'}]}",
			want:    answer{Explain: "It waits at a pause step, since 2026-11-23T11:45:00Z (step 3 of 3: pause)"},
		},
		"a pause that should have ended": {
			rollout: steps + "status: {phase: Paused, currentStepIndex: 2, duration: {rolloutStartedAt: '2026-11-23T10:00:00Z'}}", stepped: "2026-11-23T11:19:00Z",
			want: answer{Step: 41 * 60, Late: true, Kind: "pause", Explain: "It is paused (step 3 of 3: pause)"},
		},
		"paused by its spec": {
			rollout: "spec: {paused: true, strategy: {blueGreen: {}}}\nstatus: {phase: Paused, duration: {rolloutStartedAt: '2026-11-23T10:00:00Z', manualPauseStartedAt: '2026-11-23T11:59:00Z'}}",
			want:    answer{Waits: 60, User: true, Step: 7200, Kind: "update", Explain: "It waits for a user to promote it, at spec.paused, since 2026-11-23T11:59:00Z"},
		},
		"pods that do not become available": {
			rollout: steps + "status: {phase: Progressing, currentStepIndex: 0, availableReplicas: 3, duration: {rolloutStartedAt: '2026-11-23T11:49:00Z'}}",
			want:    answer{Step: 660, Late: true, Kind: "setWeight", Explain: "It waits for pods: 3 of 4 available (step 1 of 3: setWeight)"},
		},
		"the same, expected to take longer": {
			rollout: "metadata: {annotations: {rollouts.argoproj.io/expected-step-duration: 20m}}\n" + steps + "status: {phase: Progressing, currentStepIndex: 0, availableReplicas: 4, message: x, duration: {rolloutStartedAt: '2026-11-23T11:49:00Z'}}",
			want:    answer{Step: 660, Kind: "setWeight", Explain: "It is progressing: x"},
		},
		"an analysis that takes its time": {
			rollout: "spec: {progressDeadlineSeconds: 60, strategy: {canary: {steps: [{analysis: {}}]}}}\nstatus: {phase: Progressing, availableReplicas: 1, duration: {rolloutStartedAt: '2026-11-23T11:49:00Z'}}",
			runs:    []string{"metadata: {name: smoke}\nspec: {metrics: [{initialDelay: 5m, interval: 60, count: 6}, {interval: 1h}]}\nstatus: {phase: Running}"},
			want:    answer{Step: 660, Kind: "analysis", Explain: "It waits for the AnalysisRun smoke (step 1 of 1: analysis)"},
		},
		"an analysis that has ended": {
			rollout: "spec: {progressDeadlineSeconds: 60, strategy: {canary: {steps: [{analysis: {}}]}}}\nstatus: {phase: Progressing, availableReplicas: 1, message: w, duration: {rolloutStartedAt: '2026-11-23T11:49:00Z'}}",
			runs:    []string{"spec: {metrics: [{interval: 5m, count: 100}]}\nstatus: {phase: Successful}"},
			want:    answer{Step: 660, Late: true, Kind: "analysis", Explain: "It is progressing: w"},
		},
		"an aborted update": {
			rollout: "status: {phase: Degraded, message: 'RolloutAborted: x', abortedAt: '2026-11-23T11:50:00Z'}",
			want:    answer{Degraded: 600, Explain: "It is degraded: RolloutAborted: x"},
		},
		"an update that is stuck": {
			rollout: "status: {phase: Degraded, message: z, conditions: [{type: Progressing, lastTransitionTime: '2026-11-23T11:58:00Z'}]}",
			want:    answer{Degraded: 120, Explain: "It is degraded: z"},
		},
		"what is none": {rollout: "spec: 7\nstatus: {phase: Paused, pauseConditions: [7], duration: {rolloutStartedAt: x}}", want: answer{Explain: "It is paused"}},
	} {
		t.Run(name, func(t *testing.T) {
			rollout := parsed(t, c.rollout)
			var runs []any
			for _, text := range c.runs {
				runs = append(runs, parsed(t, text))
			}
			waiting, degraded, step := Waiting(rollout, noon), Degraded(rollout, noon), Step(rollout, runs, moment(c.stepped), noon)
			got := answer{
				waiting["seconds"].(int64), degraded["seconds"].(int64), step["seconds"].(int64), waiting["user"].(bool), step["late"].(bool),
				step["kind"].(string), Explain(rollout, runs),
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhoDidIt(t *testing.T) {
	at := &corev1.Event{Reason: "UserAction", Message: "promoted in full by jane@example.com"}
	if diff := cmp.Diff(map[string]any{"did": "promoted in full", "name": "jane@example.com", "time": "2026-11-23T12:00:00Z"}, By(at, noon)); diff != "" {
		t.Error(diff)
	}
	for _, nobody := range []*corev1.Event{nil, {Reason: "RolloutPaused", Message: "paused by x"}, {Reason: "UserAction", Message: "x"}} {
		if got := By(nobody, noon); got["name"] != "" {
			t.Errorf("%v of %v", got, nobody)
		}
	}
}

// Events by version 0.4.1 of the specification: what it requires is there, and repetitions have the same ID.
func TestCDEvents(t *testing.T) {
	const web = "metadata: {namespace: shop, name: web, annotations: {rollout.argoproj.io/revision: '2'}}\nspec: {template: {spec: {containers: [{name: web, image: 'ghcr.io:443/shop/web:2@sha256:ab'}]}}}\n"
	stable := parsed(t, "spec: {containers: [{name: web, image: 'web'}]}")
	for name, c := range map[string]struct {
		status, reason, incident string
		kind, subject, artifact  string
	}{
		"an update":               {"duration: {completionStatus: Promoted}", "RolloutCompleted", "", "service.upgraded", "shop/web", "pkg:oci/web@sha256%3Aab?repository_url=ghcr.io%3A443%2Fshop%2Fweb&tag=2"},
		"a rollback":              {"duration: {completionStatus: FastRolledBack}", "RolloutCompleted", "", "service.rolledback", "shop/web", "pkg:oci/web@sha256%3Aab?repository_url=ghcr.io%3A443%2Fshop%2Fweb&tag=2"},
		"an abort":                {"phase: Degraded", "RolloutAborted", "", "service.rolledback", "shop/web", "pkg:oci/web"},
		"an incident":             {"phase: Degraded\n  message: x", "", "2026-11-23T11:00:00Z", "incident.detected", "shop/web/2026-11-23T11:00:00Z", "pkg:oci/web@sha256%3Aab?repository_url=ghcr.io%3A443%2Fshop%2Fweb&tag=2"},
		"its end":                 {"phase: Healthy", "", "2026-11-23T11:00:00Z", "incident.resolved", "shop/web/2026-11-23T11:00:00Z", "pkg:oci/web@sha256%3Aab?repository_url=ghcr.io%3A443%2Fshop%2Fweb&tag=2"},
		"no incident":             {"phase: Healthy", "", "", "", "", ""},
		"an event of other kinds": {"phase: Healthy", "RolloutPaused", "x", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := Occurrence{Source: "/clusters/blue", ID: "1", At: noon, Reason: c.reason, Incident: c.incident, Stable: stable}
			e := CDEvent(parsed(t, web+"status:\n  "+c.status), o)
			if c.kind == "" {
				if e != nil {
					t.Errorf("%v", e)
				}
				return
			}
			kind := "dev.cdevents." + c.kind + ".0.2.0"
			data := e["data"].(map[string]any)
			context, subject := data["context"].(map[string]any), data["subject"].(map[string]any)
			if e["type"] != kind || e["specversion"] != "1.0" || e["subject"] != c.subject || e["time"] != "2026-11-23T12:00:00Z" || e["datacontenttype"] != "application/cdevents+json" {
				t.Errorf("%v", e)
			}
			want := map[string]any{"version": "0.4.1", "id": e["id"], "source": "/clusters/blue", "type": kind, "timestamp": "2026-11-23T12:00:00Z"}
			if diff := cmp.Diff(want, context); diff != "" {
				t.Error(diff)
			}
			content := subject["content"].(map[string]any)
			if subject["id"] != c.subject || subject["type"] == "" || content["environment"].(map[string]any)["id"] != "shop" || content["artifactId"] != c.artifact {
				t.Errorf("%v", subject)
			}
			if again := CDEvent(parsed(t, web+"status:\n  "+c.status), o); cmp.Diff(e, again) != "" {
				t.Error("told again, it is another event")
			}
		})
	}
}
