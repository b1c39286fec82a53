package explore

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-delivery/sluice/internal/analysis/measure"
	"github.com/sluice-delivery/sluice/internal/experiment"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim/decided"
)

// The rules of this package say what no engine may do. They leave it open which of several safe ways an engine takes, and when: a guard that is gone
// may cost nothing but an update that is slower, or a request that was not needed. So what the engines decide in the first histories of each kind is
// recorded as a hash, and anyone who changes a decision sees that, and in how many histories. It is no verdict: -rewrite records what is decided now.

// honest is the engines as they are, whose decisions are hashed.
func honest(d *decided.Hash) Subject {
	return Subject{
		Honest: true,
		Engine: func(o plan.Observed) plan.Plan {
			p := plan.Next(o)
			d.Plan(p)
			return p
		},
		Experiment: func(o experiment.Observed) experiment.Plan {
			p := experiment.Next(o)
			d.Experiment(p)
			return p
		},
		Measure: func(o measure.Observed) measure.Plan {
			p := measure.Next(o)
			d.Measure(p)
			return p
		},
	}
}

// decisionFile compares decisions with the recorded ones of a kind of history, and records them with -rewrite.
type decisionFile struct {
	file string
	// before are those of the file: the first of them is that of seed 1.
	before []decided.Sum

	mu      sync.Mutex
	now     map[uint64]decided.Sum
	differs []uint64
	// words: nothing but words differs.
	words bool
}

// recordedOf reads what is recorded of a kind, nil if nothing is to be.
func recordedOf(t *testing.T, kind Trial) *decisionFile {
	t.Helper()
	if kind.Shell || kind.Hostile {
		return nil // a process that plans again after a conflict depends on more than the engines
	}
	r := &decisionFile{file: filepath.Join("testdata", "decisions", kind.name()), now: map[uint64]decided.Sum{}, words: true}
	text, err := os.ReadFile(r.file)
	if err != nil && !*rewrite {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var d decided.Sum
		if _, err := fmt.Sscanf(line, "%x %x\n", &d.Does, &d.Says); err != nil && !*rewrite {
			t.Fatalf("%s: %q: %v", r.file, line, err)
		}
		r.before = append(r.before, d)
	}
	return r
}

// name is what the file of a kind is called.
func (t Trial) name() string {
	name := "plain"
	for _, part := range []struct {
		is   bool
		name string
	}{{t.Experiments, "experiments"}, {t.Routed, "routed"}, {t.Hands, "hands"}, {t.Plugins, "plugins"}} {
		if part.is {
			name += "-" + part.name
		}
	}
	return strings.TrimPrefix(name, "plain-")
}

// add compares the decisions of a history, and reports whether they are the recorded ones, or none are recorded.
func (r *decisionFile) add(seed uint64, d decided.Sum) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if *rewrite {
		r.now[seed] = d
		return true
	}
	if seed == 0 || seed > uint64(len(r.before)) {
		return true
	}
	before := r.before[seed-1]
	if d == before {
		return true
	}
	r.words = r.words && d.Does == before.Does
	r.differs = append(r.differs, seed)
	return false
}

// conclude says which histories differ.
func (r *decisionFile) conclude(t *testing.T, kind Trial) {
	t.Helper()
	if *rewrite {
		r.write(t)
		return
	}
	if len(r.differs) == 0 {
		return
	}
	slices.Sort(r.differs)
	what := "decide something else than"
	if r.words {
		what = "say what they decide in other words than"
	}
	kind.Seed = r.differs[0]
	t.Errorf("%d histories %s %s has it, from seed %d on.\nTo see it, compare with the commit before: go test ./internal/sim/explore -run TestReplay -v %s\n"+
		"To record it: go test ./internal/sim/explore -run '^%s$' -rewrite", len(r.differs), what, r.file, kind.Seed, kind.flags(), t.Name())
}

// write writes the decisions of the seeds from 1 on.
func (r *decisionFile) write(t *testing.T) {
	t.Helper()
	var text strings.Builder
	for seed := uint64(1); ; seed++ {
		d, ok := r.now[seed]
		if !ok {
			break
		}
		fmt.Fprintln(&text, d)
	}
	if text.Len() == 0 {
		t.Fatal("-rewrite records histories from -first 1 on")
	}
	if err := os.MkdirAll(filepath.Dir(r.file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.file, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
