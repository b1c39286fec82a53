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

// The rule that is left out is the one that is named, and no other.
func TestOneRuleIsLeftOut(t *testing.T) {
	if all := kept(scene{}, weights); len(all) != len(weights) {
		t.Errorf("%d of %d rules are kept without a name", len(all), len(weights))
	}
	left := kept(scene{without: "ByWeight/weight/carry"}, weights)
	if len(left) != len(weights)-1 || slices.ContainsFunc(left, func(r rule[func(*ByWeight, *weight)]) bool { return r.id == "carry" }) {
		t.Errorf("%d of %d rules are kept without one", len(left), len(weights))
	}
}
