package explore

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/plan/move"
)

// elsewhere are rules that 2,000 histories do not miss, with the transcripts and tests of internal/plan that do. Other rules keep the promise in
// their place in most worlds.
var elsewhere = map[string]string{
	"BySwitch/service/the surplus goes first":   "bluegreen-scale.txt",
	"ByPods/service/keep answering":             "canary-services.txt",
	"ByPods/service/leave one pod":              "release-refused.txt",
	"ByWeight/service/await the stable Service": "explored-routed.txt",
	"ByWeight/service/keep what serves":         "routed-dynamic-C4-C27.txt",
	"ByWeight/weight/hold for nobody":           "routed-services-C36.txt",
	"ByWeight/weight/hold the routers":          "TestNoRouterTakesTrafficBackAfterACrash",
	"ByWeight/weight/keep what is unknown":      "routed-routes-C17-C25.txt",
	"ByWeight/weight/leave without pods":        "routed-broken-C27.txt",
}

// unshown are rules that no test misses yet: what they keep needs a cache that is late and a hand on a Service in the same moment.
var unshown = []string{"ByPods/live/look at Services", "ByWeight/live/look at routes", "BySwitch/service/keep the active stack"}

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
		if elsewhere[rule] != "" || slices.Contains(unshown, rule) {
			continue
		}
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
const enoughForARule = 300
