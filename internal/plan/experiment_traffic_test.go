package plan_test

import (
	"slices"
	"testing"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim"
)

// TestNobodyIsSentToAnExperimentThatHasEnded looks at the two passes in which an Experiment's pods get traffic. The first one names them in
// the status and tells no router; the second one asks for the Experiment itself, and tells routers only if that goes on.
func TestNobodyIsSentToAnExperimentThatHasEnded(t *testing.T) {
	script := sim.NewScript()
	run := func(lines ...string) {
		for _, line := range lines {
			if _, err := script.Run(line); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
	}
	run(`rollout web replicas=4 router=gateway port=80 steps="experiment canary:canary:w10 for 1m delay 0; pause"`, "settle")
	var names, sends plan.Observed
	script.World.Loop().(*sim.Controller).OnPlan = func(p sim.Pass) {
		if p.Observed.LiveExperiment != "" {
			sends = p.Observed
		} else if sends.Rollout == nil && p.Plan.Record != nil {
			names = p.Observed
		}
	}
	run("set image v2", "advance 25s")
	if sends.Rollout == nil {
		t.Fatal("no pass has asked for the Experiment itself")
	}
	name := sends.Rollout.Status.Canary.CurrentExperiment

	first := plan.Next(names)
	if w := first.Record.To.Status.Canary.Weights; len(w.Additional) != 1 || w.Additional[0].ServiceName != name+"-canary" || w.Additional[0].Weight != 0 {
		t.Errorf("the first pass names the pods without a weight, not %+v", w)
	}
	if len(first.Route) > 0 {
		t.Errorf("the first pass tells routers: %v", first.Route)
	}
	if second := plan.Next(sends); len(second.Route) == 0 || second.Record.To.Status.Canary.Weights.Additional[0].Weight != 10 {
		t.Errorf("the second pass does not send them 10 %%: %+v", second)
	}

	cached := sends
	cached.LiveExperiment = ""
	if needs := plan.Next(cached).Needs; !slices.Equal(needs, []plan.Need{plan.NeedLiveExperiment{Name: name}}) {
		t.Errorf("by a cache alone it needs %v", needs)
	}
	ended := sends
	ex := sends.Experiments[0].DeepCopy()
	ex.Status.Phase = v1alpha1.AnalysisPhaseSuccessful
	ended.Experiments = []*v1alpha1.Experiment{ex}
	if p := plan.Next(ended); len(p.Route) > 0 || len(p.Record.To.Status.Canary.Weights.Additional) > 0 {
		t.Errorf("pods of an Experiment that has ended are sent to: %v, %+v", p.Route, p.Record.To.Status.Canary.Weights)
	}
}
