package explore_test

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-delivery/sluice/internal/sim/check"
	"github.com/sluice-delivery/sluice/internal/sim/explore"
)

// shownIn has a line for each broken engine: the first world that shows it, by which rule and after how many states, or why none does.
const shownIn = "testdata/small-worlds.txt"

// far is after how many states of a world -rewrite goes on to the next one.
const far = 1000

// shown is how small worlds show a broken engine, or why none does.
type shown struct {
	world, rule string
	states      int
	hidden      string
}

func (s shown) String() string {
	if s.world == "" {
		return "not shown: " + s.hidden
	}
	return fmt.Sprintf("world %s, rule %s, %d states", s.world, s.rule, s.states)
}

func readShown(t *testing.T) map[string]shown {
	t.Helper()
	all := map[string]shown{}
	file, err := os.Open(shownIn)
	if os.IsNotExist(err) && explore.Rewrite() {
		return all
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		mutant, how, _ := strings.Cut(lines.Text(), ": ")
		var s shown
		if why, hidden := strings.CutPrefix(how, "not shown: "); hidden {
			s.hidden = why
		} else if _, err := fmt.Sscanf(strings.ReplaceAll(how, ",", ""), "world %s rule %s %d states", &s.world, &s.rule, &s.states); err != nil {
			t.Fatalf("%s: %q: %v", shownIn, lines.Text(), err)
		}
		all[mutant] = s
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestSmallWorldsFindMutants demands that the search of small worlds finds every mutant of the explorer that they can show, in the world that
// [shownIn] names.
func TestSmallWorldsFindMutants(t *testing.T) {
	known, mutants := readShown(t), explore.EngineMutants()
	if explore.Rewrite() {
		rewriteShown(t, known, mutants)
		return
	}
	for name := range known {
		if mutants[name] == nil {
			t.Errorf("%s names a mutant %q that does not exist", shownIn, name)
		}
	}
	for name, engine := range mutants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, ok := known[name]
			switch {
			case !ok || s.world == "" && s.hidden == "":
				t.Fatalf("%s does not say which world shows it, or why none does: go test ./internal/sim/explore -run SmallWorldsFindMutants -rewrite", shownIn)
			case s.hidden != "":
				return
			}
			r := check.Search(t.Context(), check.Named(s.world), engine, check.Limits{States: 2 * s.states, Workers: 1})
			if r.Found == nil || r.Found.Rule != s.rule {
				t.Errorf("%s, found %+v, want %s", check.Line(r), r.Found, s)
			}
		})
	}
}

// rewriteShown looks for each mutant in one world after another, and writes down the first that shows it.
func rewriteShown(t *testing.T, known map[string]shown, mutants map[string]explore.Engine) {
	t.Helper()
	var mu sync.Mutex
	t.Run("all", func(t *testing.T) {
		for name, engine := range mutants {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				mu.Lock()
				last := known[name]
				mu.Unlock()
				s := firstThatShows(t, last, engine)
				mu.Lock()
				defer mu.Unlock()
				if s.world == "" {
					s.hidden = last.hidden
				}
				known[name] = s
				t.Log(s)
			})
		}
	})
	maps.DeleteFunc(known, func(name string, _ shown) bool { return mutants[name] == nil })
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(known)) {
		fmt.Fprintf(&out, "%s: %s\n", name, known[name])
	}
	if err := os.WriteFile(shownIn, []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// firstThatShows is the world that shows a mutant, that of the last time if it still does.
func firstThatShows(t *testing.T, last shown, engine explore.Engine) shown {
	t.Helper()
	if w := check.Named(last.world); w != nil {
		if s, ok := shows(t, w, 2*last.states, engine); ok {
			return s
		}
	}
	for _, w := range check.Worlds {
		if s, ok := shows(t, w, far, engine); ok {
			return s
		}
	}
	return shown{}
}

func shows(t *testing.T, w *check.World, states int, engine explore.Engine) (s shown, ok bool) {
	t.Helper()
	r := check.Search(t.Context(), w, engine, check.Limits{States: states, Workers: 1})
	if r.Found == nil {
		return shown{}, false
	}
	return shown{world: w.Name, rule: r.Found.Rule, states: r.States}, true
}
