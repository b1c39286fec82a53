package explain_test

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/explain"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/view"
)

// Stories in the language of the transcripts, in which somebody asks now and then.
func TestExplanations(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		script := sim.NewScript()
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
	return e.Text("sluice")
}

// promoted is a Rollout whose pause somebody has taken away.
func promoted(ro *v1alpha1.Rollout) *v1alpha1.Rollout {
	ro = ro.DeepCopy()
	ro.Status.PauseConditions, ro.Spec.Paused = nil, false
	return ro
}
