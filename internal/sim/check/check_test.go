package check

import (
	"testing"
	"time"

	"github.com/sluice-delivery/sluice/internal/plan"
)

// TestSmallWorlds searches every state of the smallest worlds.
func TestSmallWorlds(t *testing.T) {
	for _, w := range Worlds {
		if !w.Small {
			continue
		}
		t.Run(w.Name, func(t *testing.T) {
			r := Search(t.Context(), w, plan.Next, Limits{})
			if r.Found != nil {
				t.Fatal(r.Found.Story(w, plan.Next))
			}
			if !r.Complete || r.States < 100 {
				t.Errorf("%d states, complete %v", r.States, r.Complete)
			}
			t.Logf("%d states, %d transitions, %d at rest, depth %d, %s", r.States, r.Transitions, r.Rests, r.Depth, r.Took.Round(time.Millisecond))
		})
	}
}

// BenchmarkStates is how long a state of a small world takes.
func BenchmarkStates(b *testing.B) {
	for _, name := range []string{"rolling", "dynamic", "blue-green-hands"} {
		b.Run(name, func(b *testing.B) {
			states := 0
			for b.Loop() {
				states += Search(b.Context(), Named(name), plan.Next, Limits{States: 5000, Workers: 1}).States
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(states), "µs/state")
		})
	}
}
