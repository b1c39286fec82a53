package explore

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
)

// dishonest are engines whose plans do what they should, and say something else. The value is the rule that finds them.
var dishonest = map[string]struct {
	engine Engine
	rule   string
}{
	"tells another size": {says(func(_ plan.Observed, p *plan.Plan) {
		for i := range p.Events {
			p.Events[i].Message = strings.Replace(p.Events[i].Message, " to 1", " to 2", 1)
		}
	}), "events"},
	"notes another Service": {says(func(_ plan.Observed, p *plan.Plan) {
		for i := range p.Notes {
			p.Notes[i].Text = strings.Replace(p.Notes[i].Text, "point service web-", "point service ", 1)
		}
	}), "notes"},
	"holds for no reason": {says(func(_ plan.Observed, p *plan.Plan) {
		for i := range p.Notes {
			if p.Notes[i].Promise.Name != "" {
				p.Notes[i].Reason = ""
			}
		}
	}), "notes"},
	"does not report a pause": {says(func(_ plan.Observed, p *plan.Plan) {
		p.Events = slices.DeleteFunc(p.Events, func(e change.Event) bool { return e.Reason == v1alpha1.ReasonRolloutPaused })
	}), "events"},
	"wakes a second late": {says(func(_ plan.Observed, p *plan.Plan) {
		if !p.Wake.IsZero() {
			p.Wake = p.Wake.Add(time.Second)
		}
	}), "wake"},
	"wakes a second early": {says(func(o plan.Observed, p *plan.Plan) {
		if p.Wake.Sub(o.Now) > time.Second {
			p.Wake = p.Wake.Add(-time.Second)
		}
	}), "wake"},
	"goes by the order of what it sees": {says(func(o plan.Observed, p *plan.Plan) {
		if len(o.ReplicaSets) > 1 {
			p.Notes = append(p.Notes, change.Note{Topic: change.TopicWait, Text: o.ReplicaSets[0].Name})
		}
	}), "purity"},
	"moves transitions": {records(func(_ plan.Observed, s *v1alpha1.RolloutStatus) {
		for i := range s.Conditions {
			s.Conditions[i].LastTransitionTime = s.Conditions[i].LastUpdateTime
		}
	}), "conditions"},
	"counts a pod too many": {records(func(_ plan.Observed, s *v1alpha1.RolloutStatus) { s.ReadyReplicas++ }), "status"},
	"keeps a promotion":     {records(func(o plan.Observed, s *v1alpha1.RolloutStatus) { s.PromoteFull = o.Rollout.Status.PromoteFull }), "status"},
}

// TestDishonestPlansAreFound proves that the rules about single plans bite.
func TestDishonestPlansAreFound(t *testing.T) {
	for name, test := range dishonest {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(200) {
				for _, routed := range []bool{false, true} {
					if fault := Play(Trial{Seed: seed + 1, Routed: routed}, Subject{Engine: test.engine, Honest: true}, nil); fault != nil {
						if fault.Rule != test.rule {
							t.Errorf("the rule %q finds it, not %q: %v", fault.Rule, test.rule, fault)
						}
						return
					}
				}
			}
			t.Error("no history of 200 finds it")
		})
	}
}
