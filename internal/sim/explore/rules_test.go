package explore

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/plan/move"
)

// TestEveryRuleIsNeeded leaves out one rule of the mover after the other, and demands that a history breaks a promise then: a recorded one, or one
// of the first seeds.
func TestEveryRuleIsNeeded(t *testing.T) {
	paths, err := filepath.Glob(regressions + "/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var recorded []*recording
	for _, path := range paths {
		r, err := readRecording(path)
		if err != nil {
			t.Fatal(err)
		}
		if !r.Shell && !r.Experiments {
			recorded = append(recorded, r)
		}
	}
	for _, rule := range move.Rules() {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			way, _, _ := strings.Cut(rule, "/")
			broken := Subject{Engine: plan.Without(rule)}
			for _, r := range recorded {
				if fault := play(r.trial(), broken, nil, nil); fault != nil {
					t.Logf("%s: %s: %s", r.fault, fault.Rule, fault.Text)
					return
				}
			}
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

// enoughForARule is how many seeds are tried before a rule counts as idle.
const enoughForARule = 2000
