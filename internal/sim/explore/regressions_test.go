package explore

import "testing"

// regressions are histories that once failed, with the fault that they found and, where there is one, the mutant that has it. Histories
// change when what makes them does: then the test says so of those with a mutant, and other seeds must be found, which the mutant makes
// easy. What each of the others showed is also told in internal/plan/testdata/explored.txt.
var regressions = []struct {
	Trial
	fault string
}{
	{Trial{Seed: 685}, "trusts counts of another size"},
	{Trial{Seed: 854}, "an abort leaves a promotion standing"},
	{Trial{Seed: 218, Shell: true}, "a version got pods that no status knew of, and went round its gates when it came back"},
	{Trial{Seed: 878, Shell: true}, "the delay behind an abort began before the switch was seen"},
}

func TestRegressions(t *testing.T) {
	for _, r := range regressions {
		if fault := Play(r.Trial, Real, nil); fault != nil {
			t.Errorf("%q is back: %v", r.fault, fault)
		}
		if mutant, ok := broken()[r.fault]; ok && Play(r.Trial, mutant, nil) == nil {
			t.Errorf("seed %d does not show %q any more: find another one", r.Seed, r.fault)
		}
	}
}
