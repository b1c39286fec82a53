package explore

import "testing"

// isFound demands that one of the first [mostSeeds] histories finds a fault, by a rule if there is one that is meant for it, and that
// docs/reliability.md tells which. That one is played first, and the others only if it no longer finds it.
func isFound(t *testing.T, rule string, play func(seed uint64) *Fault) {
	t.Helper()
	finds := func(seed uint64) *Fault {
		if fault := play(seed); fault != nil && (rule == "" || fault.Rule == rule) {
			return fault
		}
		return nil
	}
	told := toldOf(t)
	if told.seed != 0 {
		if fault := finds(told.seed); fault != nil && fault.Rule == told.rule {
			t.Logf("found by seed %d: %s: %s", told.seed, fault.Rule, fault.Text)
			return
		}
	}
	for seed := uint64(1); seed <= mostSeeds; seed++ {
		fault := finds(seed)
		switch {
		case fault == nil:
		case *rewrite:
			told.write(t, seed, fault.Rule)
			return
		default:
			t.Errorf("docs/reliability.md has it that %s, and what finds it is seed %d, by the rule %q (%s). Histories change when what "+
				"makes them does; to write down what finds the faults now: go test ./internal/sim/explore -run MutantsAreFound -rewrite",
				told, seed, fault.Rule, fault.Text)
			return
		}
	}
	t.Errorf("%d histories and nobody noticed", mostSeeds)
}
