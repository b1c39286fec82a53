package check

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim/decided"
)

// The rules that a search demands leave it open which of several safe ways the engine takes. So what it decides in the nearest states of every world is
// recorded as a hash, as in histories (internal/sim/explore), and anyone who changes a decision sees that, and in which worlds.

var rewrite = flag.Bool("rewrite", false, "record what the engine decides in the worlds")

// recordedStates are how many states of each world are searched for that, with and without hands.
const recordedStates = 1500

// TestDecisions compares what the engine decides in the nearest states of each world with what is recorded.
func TestDecisions(t *testing.T) {
	file := filepath.Join("testdata", "decisions.txt")
	recorded, err := os.ReadFile(file)
	if err != nil && !*rewrite {
		t.Fatal(err)
	}
	before := map[string]string{}
	for line := range strings.Lines(string(recorded)) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), ": ")
		before[name] = rest
	}
	var mu sync.Mutex
	now := map[string]string{}
	t.Run("worlds", func(t *testing.T) {
		for _, w := range Worlds {
			t.Run(w.Name, func(t *testing.T) {
				t.Parallel()
				is := decisionsIn(t, w)
				if is != before[w.Name] && !*rewrite {
					t.Errorf("the engine decides something else than %s has it: %s, not %s\nTo see where, compare with the commit before: make check WORLD=%s\n"+
						"To record it: go test ./internal/sim/check -run TestDecisions -rewrite", file, is, before[w.Name], w.Name)
				}
				mu.Lock()
				defer mu.Unlock()
				now[w.Name] = is
			})
		}
	})
	if !*rewrite {
		return
	}
	var text strings.Builder
	for _, w := range Worlds {
		fmt.Fprintf(&text, "%s: %s\n", w.Name, now[w.Name])
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// decisionsIn searches the nearest states of a world twice, without crashes and old caches, of which most states are: as it is, and with hands that
// people lay on every world. It returns what there is, with the sums of the hashes of all different decisions.
func decisionsIn(t *testing.T, w *World) string {
	decisions := map[decided.Sum]bool{}
	engine := func(o plan.Observed) plan.Plan {
		p := plan.Next(o)
		h := decided.New()
		h.Plan(p)
		decisions[h.Sum()] = true
		return p
	}
	calm := *w
	calm.Total, calm.Crashes, calm.Stale, calm.Delays, calm.Lag = max(w.Total, 3), 0, 0, 0, 0
	states, transitions := 0, 0
	for _, moves := range [][]Move{w.Moves, withHands(w.Moves)} {
		calm.Moves = moves
		r := Search(t.Context(), &calm, engine, Limits{States: recordedStates, Workers: 1}) // one, so that of equal states the same is always first
		if r.Found != nil {
			t.Fatal(r.Found.Story(&calm, plan.Next))
		}
		states, transitions = states+r.States, transitions+r.Transitions
	}
	var all decided.Sum
	for d := range decisions {
		all.Does, all.Says = all.Does+d.Does, all.Says+d.Says
	}
	return fmt.Sprintf("%d states, %d transitions, %d decisions, %s", states, transitions, len(decisions), all)
}

// withHands are moves of a world and others that make sense in any, as many as there is room for.
func withHands(moves []Move) []Move {
	all := slices.Clone(moves)
	for _, m := range []Move{scale(0), scale(3), hold(), resume(), deleteSet("v1"), kill("v1"), unready("v1"), lead(), promoteFull(), image("v3")} {
		if len(all) < len(budget{}.moves) && !slices.ContainsFunc(all, func(have Move) bool { return have.Line == m.Line }) {
			all = append(all, m)
		}
	}
	return all
}
