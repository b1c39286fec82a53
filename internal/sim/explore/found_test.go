package explore

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/internal/manifests"
)

// isFound demands that one of the first 2000 histories finds a fault, by a rule if there is one that is meant for it. The one that
// docs/reliability.md names is played first, and the others only if it no longer does.
func isFound(t *testing.T, rule string, play func(seed uint64) *Fault) {
	t.Helper()
	told := toldSeed(t)
	found := func(seed uint64) *Fault {
		if fault := play(seed); fault != nil && (rule == "" || fault.Rule == rule) {
			return fault
		}
		return nil
	}
	if told != 0 {
		if fault := found(told); fault != nil {
			t.Logf("found by seed %d: %s: %s", told, fault.Rule, fault.Text)
			return
		}
	}
	for seed := uint64(1); seed <= 2000; seed++ {
		if fault := found(seed); fault != nil {
			t.Logf("found by seed %d, and docs/reliability.md says %d (0: nothing), so write that down: %s: %s", seed, told, fault.Rule, fault.Text)
			return
		}
	}
	t.Error("2000 histories and nobody noticed")
}

// toldSeed is the seed in the subtest's row of docs/reliability.md, zero without one. The test's own table follows its name there.
func toldSeed(t *testing.T) uint64 {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(manifests.Root(), "docs", "reliability.md"))
	if err != nil {
		t.Fatal(err)
	}
	test, name, _ := strings.Cut(t.Name(), "/")
	_, table, there := strings.Cut(string(text), "`"+test+"`")
	if !there {
		t.Fatalf("docs/reliability.md does not name %s before the table of what it finds", test)
	}
	rows := false
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) < 3 {
			if rows {
				return 0 // the table is over
			}
			continue
		}
		rows = true
		if strings.ReplaceAll(strings.TrimSpace(cells[1]), " ", "_") != name {
			continue
		}
		number, _, _ := strings.Cut(strings.TrimSpace(cells[2]), " ") // flags of the replay follow
		seed, err := strconv.ParseUint(number, 10, 64)
		if err != nil || seed > 2000 {
			t.Fatalf("docs/reliability.md: %q is not a seed up to 2000, in %s", cells[2], line)
		}
		return seed
	}
	return 0
}
