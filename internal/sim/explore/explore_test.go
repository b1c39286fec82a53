package explore

import (
	"flag"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-delivery/sluice/internal/plan"
)

var (
	seeds = flag.Uint64("seeds", 1500, "how many histories to explore")
	first = flag.Uint64("first", 1, "the first seed")
	seed  = flag.Uint64("seed", 0, "the one history to replay, with everything that happens in it")
)

// regressions are seeds that once failed, and why. Histories change when the generator does; these were found by this one.
var regressions = map[string]uint64{
	"pods are added for which there is no room, beside a version whose size its controller has not seen":    448,
	"pods are taken away, relying on those of a version whose size its controller has not seen":             3701,
	"a full promotion that missed its deadline is aborted and begun again for ever":                         1049,
	"a full promotion that missed its deadline is aborted and begun again for ever, after other adventures": 1794,
}

func TestRegressions(t *testing.T) {
	for why, seed := range regressions {
		if fault := Play(seed, plan.Next, nil); fault != nil {
			t.Errorf("%s is back: %v", why, fault)
		}
	}
}

// TestExplore plays histories until their number is up or a few have failed.
func TestExplore(t *testing.T) {
	start := time.Now() //nolint:forbidigo // tells how fast, decides nothing
	var next atomic.Uint64
	next.Store(*first)
	var failed atomic.Int32
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for failed.Load() < 5 {
				n := next.Add(1) - 1
				if n >= *first+*seeds {
					return
				}
				if fault := Play(n, plan.Next, nil); fault != nil {
					failed.Add(1)
					t.Error(fault)
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(start) //nolint:forbidigo // as above
	t.Logf("%d histories in %s: %.0f a minute", next.Load()-*first, took.Round(time.Millisecond), float64(next.Load()-*first)/took.Minutes())
}

// TestReplay plays one history and tells all that happens: -run TestReplay -seed N -v.
func TestReplay(t *testing.T) {
	if *seed == 0 {
		t.Skip("no -seed")
	}
	if fault := Play(*seed, plan.Next, t.Logf); fault != nil {
		t.Error(fault)
	}
}
