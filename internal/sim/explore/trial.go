package explore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Trial says which history to play.
type Trial struct {
	Seed uint64
	// Routed: canaries have routers, or Services of their own without one.
	Routed bool
	// Shell: the controller's own shell is played, on an API server in memory, in the place of tier one's loop.
	Shell bool
	// Standby: processes that take over have filled their caches before, and these may be behind; otherwise they list everything first.
	Standby bool
	// Experiments: the world has Experiments, alone and as steps of canaries, and AnalysisRuns that are measured.
	Experiments bool
	// Hands: people lay hands on what is managed: they delete any ReplicaSet, edit Services to any hash, and give them other names.
	Hands bool
	// Hostile: a tenant in another namespace attacks; of tier two alone.
	Hostile bool
	// Plugins: plugins carry out some of the steps.
	Plugins bool
	// Late: EndpointSlices list pods later than ReplicaSets count them; of tier two with routers alone.
	Late bool
	// AllRouters: the shell knows the kinds of all routers, and not only of the first ones. The seed decides; a recording keeps it.
	AllRouters bool
	// Moves are the disturbances that happen, by their place in the seed's history; nil for all of them.
	Moves []int
	// Without are kinds of disorder that are left out.
	Without []Disorder

	// replay is what to play in the place of the seed's history.
	replay *recording
}

// Disorder is what the world does on its own account.
type Disorder string

// The kinds of disorder.
const (
	Staleness Disorder = "staleness" // the controller sees old objects
	Crashes   Disorder = "crashes"   // the controller stops between two writes
	Delays    Disorder = "delays"    // everybody hears late of everything
	Timeouts  Disorder = "timeouts"  // requests get no answer; of tier two alone
)

// Fault is what is wrong with a history.
type Fault struct {
	Trial
	Rule string
	Text string
	At   time.Duration
}

func (f *Fault) Error() string {
	if f.replay != nil {
		return fmt.Sprintf("%s: at %s: %s", f.Rule, f.At, f.Text)
	}
	return fmt.Sprintf("seed %d: %s: at %s: %s\nreplay: go test ./internal/sim/explore -run TestReplay -v %s", f.Seed, f.Rule, f.At, f.Text, f.flags())
}

// flags are those of TestReplay that play the history again.
func (t Trial) flags() string {
	text := fmt.Sprintf("-seed %d", t.Seed)
	if t.Routed {
		text += " -routed"
	}
	if t.Shell {
		text += " -shell"
	}
	if t.Standby {
		text += " -standby"
	}
	if t.Experiments {
		text += " -experiments"
	}
	if t.Hands {
		text += " -hands"
	}
	if t.Hostile {
		text += " -hostile"
	}
	if t.Plugins {
		text += " -plugins"
	}
	if t.Late {
		text += " -late"
	}
	if t.Moves != nil {
		var moves []string
		for _, m := range t.Moves {
			moves = append(moves, strconv.Itoa(m))
		}
		text += " -moves=" + strings.Join(moves, ",")
	}
	if len(t.Without) > 0 {
		var kinds []string
		for _, d := range t.Without {
			kinds = append(kinds, string(d))
		}
		text += " -without " + strings.Join(kinds, ",")
	}
	return text
}

// Shrink looks for the shortest history that breaks the same rule: it leaves out one thing after the other, and keeps it out where
// the fault stays.
func Shrink(f *Fault, s Subject) *Fault {
	if f.Moves == nil {
		whole := f.Trial
		for i := range most {
			whole.Moves = append(whole.Moves, i)
		}
		if same := Play(whole, s, nil); same != nil {
			f = same
		}
	}
	for again := true; again; {
		again = false
		for shorter := range f.shorter() {
			if found := Play(shorter, s, nil); found != nil && found.Rule == f.Rule {
				f, again = found, true
				break
			}
		}
	}
	return f
}

// shorter are trials with one thing less.
func (t Trial) shorter() func(yield func(Trial) bool) {
	return func(yield func(Trial) bool) {
		for i := len(t.Moves); i > 0; i -= max(1, i/2) { // large cuts first
			cut := t
			cut.Moves = slices.Clone(t.Moves[:len(t.Moves)-i])
			if !yield(cut) {
				return
			}
		}
		for i := range t.Moves {
			cut := t
			cut.Moves = slices.Delete(slices.Clone(t.Moves), i, i+1)
			if !yield(cut) {
				return
			}
		}
		for _, d := range []Disorder{Staleness, Crashes, Delays, Timeouts} {
			if slices.Contains(t.Without, d) || d == Timeouts && !t.Shell {
				continue
			}
			cut := t
			cut.Without = append(slices.Clone(t.Without), d)
			if !yield(cut) {
				return
			}
		}
	}
}
