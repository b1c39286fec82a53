package explore

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-delivery/sluice/internal/sim/decided"
)

var (
	seeds   = flag.Uint64("seeds", 1500, "how many histories to explore, and half as many with routers")
	first   = flag.Uint64("first", 1, "the first seed")
	seed    = flag.Uint64("seed", 0, "the one history to replay, with everything that happens in it")
	routed  = flag.Bool("routed", false, "whether the canaries of the one history have routers or Services")
	shelled = flag.Bool("shell", false, "whether the controller's own shell is played")
	standby = flag.Bool("standby", false, "whether processes that take over may be behind")
	hands   = flag.Bool("hands", false, "whether people lay hands on what is managed in the one history")
	hostile = flag.Bool("hostile", false, "whether a tenant in another namespace attacks in the one history")
	plugged = flag.Bool("plugins", false, "whether plugins carry out steps in the one history")
	late    = flag.Bool("late", false, "whether EndpointSlices list pods late in the one history")
	moves   = flag.String("moves", "all", "which of its moves to replay, with commas; empty for none")
	brief   = flag.Bool("brief", false, "end at the first fault, do not look for a shorter history that shows it, and do not try mutants with recordings")
	without = flag.String("without", "", "which kinds of disorder to leave out of it, with commas: staleness, crashes, delays")
)

// TestExplore plays histories until their number is up or a few have failed.
func TestExplore(t *testing.T) { explore(t, Trial{}, *seeds) }

// TestExploreRouted plays half as many with canaries that have routers, or Services of their own.
func TestExploreRouted(t *testing.T) { explore(t, Trial{Routed: true}, (*seeds+1)/2) }

// TestExploreHands and TestExploreHandsRouted play half as many of each in which people lay hands on what is managed.
func TestExploreHands(t *testing.T) { explore(t, Trial{Hands: true}, (*seeds+1)/2) }

// TestExploreHandsRouted does so with canaries that have routers, or Services of their own.
func TestExploreHandsRouted(t *testing.T) { explore(t, Trial{Routed: true, Hands: true}, (*seeds+3)/4) }

// TestExploreShell and TestExploreShellRouted play the controller's own shell, one history for each twenty of the others. In every other
// one without routers standbys take over, which may be behind; -standby has them do so in all.
func TestExploreShell(t *testing.T) { explore(t, Trial{Shell: true}, (*seeds+shelledOf-1)/shelledOf) }

// TestExploreShellRouted does so with canaries that have routers.
func TestExploreShellRouted(t *testing.T) {
	explore(t, Trial{Shell: true, Routed: true}, (*seeds+shelledOf-1)/shelledOf)
}

// TestExploreShellLate does so where EndpointSlices list pods later than ReplicaSets count them.
func TestExploreShellLate(t *testing.T) {
	explore(t, Trial{Shell: true, Routed: true, Late: true}, (*seeds+shelledOf-1)/shelledOf)
}

// TestExploreExperimentsShell plays Experiments and AnalysisRuns with their own reconcilers, in every other history with standbys.
func TestExploreExperimentsShell(t *testing.T) {
	explore(t, Trial{Shell: true, Experiments: true}, (*seeds+shelledOf-1)/shelledOf)
}

// TestExploreHostile and those after it play histories of tier two beside a tenant who attacks from another namespace: of Rollouts, of canaries
// with routers, and of Experiments with AnalysisRuns.
func TestExploreHostile(t *testing.T) { explore(t, Trial{Shell: true, Hostile: true}, hostileCount()) }

// TestExploreHostileRouted does so with canaries that have routers.
func TestExploreHostileRouted(t *testing.T) {
	explore(t, Trial{Shell: true, Routed: true, Hostile: true}, hostileCount())
}

// TestExploreHostileExperiments does so with Experiments and AnalysisRuns.
func TestExploreHostileExperiments(t *testing.T) {
	explore(t, Trial{Shell: true, Experiments: true, Hostile: true}, hostileCount())
}

// hostileCount is how many histories of each kind a tenant attacks in.
func hostileCount() uint64 { return (*seeds + shelledOf - 1) / shelledOf }

// shelledOf is of how many seeds one is tier two's.
const shelledOf = 20

func explore(t *testing.T, kind Trial, count uint64) {
	t.Helper()
	start := time.Now()
	record := recordedOf(t, kind)
	var next atomic.Uint64
	next.Store(*first)
	var failed atomic.Int32
	tell := func() string {
		took, played := time.Since(start), min(next.Load(), *first+count)-*first
		return fmt.Sprintf("%d of %d histories from seed %d in %s: %.0f a minute, %d failed",
			played, count, *first, took.Round(time.Second), float64(played)/took.Minutes(), failed.Load())
	}
	defer everyMinute(func() { fmt.Fprintf(os.Stderr, "%s: %s\n", t.Name(), tell()) })()
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for failed.Load() < mostFailed() {
				n := next.Add(1) - 1
				if n >= *first+count {
					return
				}
				made, subject := decided.New(), Real
				if record != nil {
					subject = honest(made)
				}
				if fault := Play(Trial{Seed: n, Routed: kind.Routed, Shell: kind.Shell, Standby: kind.Shell && (*standby || !kind.Routed && n%2 == 0), Experiments: kind.Experiments, Hands: kind.Hands, Hostile: kind.Hostile, Plugins: kind.Plugins, Late: kind.Late}, subject, nil); fault != nil {
					failed.Add(1)
					if !*brief {
						fault = Shrink(fault, Real)
					}
					t.Error(fault)
				} else if record != nil && !record.add(n, made.Sum()) && *brief {
					failed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if record != nil {
		record.conclude(t, kind)
	}
	t.Log(tell())
}

// mostFailed is after how many faults there is no need for more.
func mostFailed() int32 {
	if *brief {
		return 1
	}
	return 5
}

// everyMinute reports the progress of a long run, until stop is called.
func everyMinute(do func()) (stop func()) {
	ticker, done := time.NewTicker(time.Minute), make(chan struct{})
	go func() {
		for {
			select {
			case <-ticker.C:
				do()
			case <-done:
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(done)
	}
}

// TestReplay plays one history and tells all that happens: -run TestReplay -seed N -v.
func TestReplay(t *testing.T) {
	if *seed == 0 {
		t.Skip("no -seed")
	}
	if fault := Play(replayed(t), Real, t.Logf); fault != nil {
		t.Error(fault)
	}
}

// replayed is the trial that the flags tell of.
func replayed(t *testing.T) Trial {
	trial := Trial{Seed: *seed, Routed: *routed, Shell: *shelled, Standby: *standby, Experiments: *experiments, Hands: *hands, Hostile: *hostile, Plugins: *plugged, Late: *late}
	if *moves != "all" {
		trial.Moves = []int{}
		for text := range strings.FieldsFuncSeq(*moves, func(r rune) bool { return r == ',' }) {
			n, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			trial.Moves = append(trial.Moves, n)
		}
	}
	for text := range strings.FieldsFuncSeq(*without, func(r rune) bool { return r == ',' }) {
		trial.Without = append(trial.Without, Disorder(text))
	}
	return trial
}
