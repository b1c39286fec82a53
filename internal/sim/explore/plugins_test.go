package explore

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
)

// TestExplorePlugins plays histories in which plugins carry out steps: they fail, hang, answer nonsense, and answers are lost.
func TestExplorePlugins(t *testing.T) { explore(t, Trial{Plugins: true}, (*seeds+3)/4) }

// TestExplorePluginsRouted does so with canaries that have routers.
func TestExplorePluginsRouted(t *testing.T) {
	explore(t, Trial{Plugins: true, Routed: true}, (*seeds+7)/8)
}

// TestExplorePluginsShell does so with the controller's own shell.
func TestExplorePluginsShell(t *testing.T) {
	explore(t, Trial{Plugins: true, Shell: true}, (*seeds+shelledOf-1)/shelledOf)
}

// pluginMutants are faults that only steps of plugins can show.
var pluginMutants = map[string]Engine{
	"takes what runs for done": hears(func(a *change.StepAnswer) {
		if a.Phase == string(v1alpha1.StepPluginRunning) {
			a.Phase = string(v1alpha1.StepPluginSuccessful)
		}
	}),
	"takes errors for done":  hears(func(a *change.StepAnswer) { a.Error = "" }),
	"takes failures lightly": hears(func(a *change.StepAnswer) { a.Phase, a.Error = string(v1alpha1.StepPluginRunning), "" }),
	"concludes without an answer": records(func(_ plan.Observed, s *v1alpha1.RolloutStatus) {
		for i, e := range s.Canary.StepPluginStatuses {
			if e.Operation == v1alpha1.StepPluginRun && e.Phase == v1alpha1.StepPluginRunning {
				s.Canary.StepPluginStatuses[i].Phase = v1alpha1.StepPluginSuccessful
			}
		}
	}),
	"forgets the state": says(func(_ plan.Observed, p *plan.Plan) {
		for i := range p.Calls {
			p.Calls[i].Status = nil
		}
	}),
	"makes up a state": says(func(_ plan.Observed, p *plan.Plan) {
		for i := range p.Calls {
			p.Calls[i].Status = json.RawMessage(`{"made":"up"}`)
		}
	}),
	"undoes nothing": says(func(_ plan.Observed, p *plan.Plan) {
		p.Calls = slices.DeleteFunc(p.Calls, func(c change.StepCall) bool { return c.Operation == v1alpha1.StepPluginAbort })
	}),
	"stops nothing": says(func(_ plan.Observed, p *plan.Plan) {
		p.Calls = slices.DeleteFunc(p.Calls, func(c change.StepCall) bool { return c.Operation == v1alpha1.StepPluginTerminate })
	}),
	"never asks again": says(func(_ plan.Observed, p *plan.Plan) {
		p.Calls = slices.DeleteFunc(p.Calls, func(c change.StepCall) bool { return c.Executions > 0 && c.Operation == v1alpha1.StepPluginRun })
	}),
}

// hears is an engine that hears other answers of plugins than they gave.
func hears(edit func(*change.StepAnswer)) Engine {
	return func(o plan.Observed) plan.Plan {
		o.StepAnswers = slices.Clone(o.StepAnswers)
		for i := range o.StepAnswers {
			edit(&o.StepAnswers[i])
		}
		return plan.Next(o)
	}
}

// TestPluginMutantsAreFound proves that the rules about plugins bite.
func TestPluginMutantsAreFound(t *testing.T) {
	for name, engine := range pluginMutants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule := "plugin"
			if name == "never asks again" {
				rule = "convergence"
			}
			isFound(t, rule, func(seed uint64) *Fault {
				return Play(Trial{Seed: seed, Plugins: true}, Subject{Engine: engine}, nil)
			})
		})
	}
}
