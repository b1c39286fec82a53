package explore

import (
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/plan/move"
)

// TestEveryRuleIsNeeded leaves out one rule of the mover after the other, and demands that a history breaks a promise then.
func TestEveryRuleIsNeeded(t *testing.T) {
	for _, rule := range move.Rules() {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			way, _, _ := strings.Cut(rule, "/")
			broken := Subject{Engine: plan.Without(rule)}
			for n := range uint64(enoughForARule) {
				if fault := Play(Trial{Seed: n + 1, Routed: way == "ByWeight", Hands: n%2 == 1}, broken, nil); fault != nil {
					t.Logf("seed %d: %s: %s", n+1, fault.Rule, fault.Text)
					return
				}
			}
			t.Errorf("%d histories do not miss it", enoughForARule)
		})
	}
}

// enoughForARule is how many histories are tried before a rule counts as idle.
const enoughForARule = 3000
