package move

import (
	"slices"
	"testing"
)

// Rules names every rule of every list once: what is not named is never left out, and nobody sees what it is for.
func TestRulesNamesAll(t *testing.T) {
	all := Rules()
	if want := len(sizesByPods) + len(servicesByPods) + len(sizesByWeight) + len(stableByWeight) + len(canaryByWeight) + len(weights) + len(sizesBySwitch) + len(activeBySwitch); len(all) != want {
		t.Errorf("%d rules are named, and there are %d", len(all), want)
	}
	slices.Sort(all)
	if once := slices.Compact(slices.Clone(all)); len(once) != len(all) {
		t.Errorf("some are named twice: %q", all)
	}
}
