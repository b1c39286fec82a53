package explain_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/internal/sim/script"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/explain"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/view"
)

// Stories in the language of the transcripts, with `explain` commands in between.
func TestExplanations(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		script := script.New()
		script.Hush()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			for line := range strings.Lines(d.Cmd + " " + strings.Join(directive(d), " ") + "\n" + d.Input) {
				if line = strings.TrimSpace(line); line == "explain" {
					out.WriteString(ask(t, script.World))
					continue
				}
				if _, err := script.Run(line); err != nil {
					t.Fatal(err)
				}
			}
			return out.String()
		})
	})
}

// directive is the rest of the first line, as it was written.
func directive(d *datadriven.TestData) []string {
	var words []string
	for _, arg := range d.CmdArgs {
		words = append(words, arg.String())
	}
	return words
}

func ask(t *testing.T, w *sim.World) string {
	t.Helper()
	return asked(t, w).Text("sluice")
}

func asked(t *testing.T, w *sim.World) explain.Explanation {
	t.Helper()
	seen := w.Observe(sim.View{})
	before := seen.Rollout.DeepCopy()
	look := func(o *plan.Observed, need change.Need) error {
		w.Look(o, need)
		return nil
	}
	e, err := explain.Of(seen, view.Objects{Rollout: seen.Rollout, ReplicaSets: seen.ReplicaSets, AnalysisRuns: seen.AnalysisRuns}, look, promoted)
	if err != nil {
		t.Fatal(err)
	}
	if before.ResourceVersion != w.Rollout().ResourceVersion {
		t.Error("explaining has changed the Rollout")
	}
	return e
}

// The API server refused a write, and the status says which. The controller is at work, and goes on when the write is accepted.
func TestWritesThatAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		begin   []string
		refusal string
		want    string
	}{
		"a Service": {
			[]string{"rollout web replicas=2 services=web-stable stableService=web-stable", "settle"},
			"patch Service web-stable: services are frozen",
			`The canary 'web' is Degraded: WriteRefused: patch Service web-stable: services are frozen.

The API server refuses these writes, and Sluice retries them every 30 seconds:
  - patch Service web-stable: services are frozen: correct the policy, quota, webhook or permission that refuses it

As soon as the API server accepts them:
  - point service web-stable to 6594d9f8b4: it is the stable version
`,
		},
		"two writes, in other words than these": {
			[]string{"rollout web replicas=2 services=web-stable stableService=web-stable", "settle"},
			`patch Service web-stable: denied: no; really; patch HTTPRoute web: spec.rules: must be empty; nothing else: no`,
			`The canary 'web' is Degraded: WriteRefused: patch Service web-stable: denied: no; really; patch HTTPRoute web: spec.rules: must be empty; nothing else: no.

The API server refuses these writes, and Sluice retries them every 30 seconds:
  - patch Service web-stable: denied: no; really: correct the policy, quota, webhook or permission that refuses it
  - patch HTTPRoute web: spec.rules: must be empty; nothing else: no: correct the policy, quota, webhook or permission that refuses it

As soon as the API server accepts them:
  - point service web-stable to 6594d9f8b4: it is the stable version
`,
		},
		"a write without a name": {
			[]string{"rollout web replicas=2 services=web-stable stableService=web-stable", "settle"},
			"no",
			`The canary 'web' is Degraded: WriteRefused: no.

The API server refuses these writes, and Sluice retries them every 30 seconds:
  - no: correct the policy, quota, webhook or permission that refuses it

As soon as the API server accepts them:
  - point service web-stable to 6594d9f8b4: it is the stable version
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			script := script.New()
			for _, line := range test.begin {
				if _, err := script.Run(line); err != nil {
					t.Fatal(err)
				}
			}
			w := script.World
			w.EditService("web-stable", func(s *corev1.Service) { s.Spec.Selector[v1alpha1.PodTemplateHashLabel] = "other" })
			w.EditStatus(func(s *v1alpha1.RolloutStatus) {
				*s = plan.Withheld(w.Rollout(), v1alpha1.RolloutPhaseDegraded, "WriteRefused: "+test.refusal).To.Status
			})
			if diff := cmp.Diff(test.want, ask(t, w)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// promoted is a Rollout whose pause was ended by a promotion.
func promoted(ro *v1alpha1.Rollout) *v1alpha1.Rollout {
	ro = ro.DeepCopy()
	ro.Status.PauseConditions, ro.Spec.Paused = nil, false
	return ro
}

// Programs read which promise holds what back, and nothing of promises where none does.
func TestPromisesForPrograms(t *testing.T) {
	script := script.New()
	for _, line := range []string{"rollout web replicas=4 maxSurge=1 maxUnavailable=0 steps=\"pause\"", "settle", "set image v2", "settle", "promote"} {
		if _, err := script.Run(line); err != nil {
			t.Fatal(err)
		}
	}
	e := asked(t, script.World)
	text, err := json.Marshal(e.Waits)
	if err != nil {
		t.Fatal(err)
	}
	const capacity = `"promise":{"name":"capacity","sentence":"There are never more pods than replicas + maxSurge, and never fewer available ones than replicas - maxUnavailable."}`
	want := `[` +
		`{"what":"web-cdf754c5c at 1 pod, 4 wanted","why":"until others are available, or gone",` + capacity + `},` +
		`{"what":"web-6594d9f8b4 at 4 pods, 0 wanted","why":"until others are available, or gone",` + capacity + `},` +
		`{"what":"promotion","why":"0 of 4 pods of the new version available"}]`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
