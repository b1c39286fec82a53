package capacity

import (
	"math/rand/v2"
	"testing"
)

// TestTurnsComeToAnEnd moves traffic between two sides that share too little room, from any weight to any other, with pods that come at
// once: there are never too many of them, nor fewer than a weight can do with, and the weight gets to where it should be.
func TestTurnsComeToAnEnd(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		surge := random.Int32N(3)
		o := SurgeBudget{replicas: 1 + random.Int32N(30), max: []int32{100, 1000}[random.IntN(2)], tolerated: random.Int32N(3)}
		if random.IntN(10) == 0 {
			o.replicas *= 20
		}
		if surge == 0 {
			o.tolerated++
		}
		o.minPods = random.Int32N(max(1, surge) + 1)
		o.Most = max(o.replicas+surge, 2)
		from, want := random.Int32N(o.max+1), random.Int32N(o.max+1)

		var canary, stable int32
		canary = o.Beside(o.max-from, o.Sized(from))
		stable = max(1, min(o.Sized(o.max-from), o.Most-canary))
		begun := [2]int32{canary, stable}
		now := from
		for turn := 0; now != want || canary < o.Beside(o.max-want, o.Sized(want)); turn++ {
			if turn > 3000 {
				t.Fatalf("%+v: from %d to %d, beginning with %d: stuck at %d, with %d and %d pods", o, from, want, begun, now, canary, stable)
			}
			aim := o.Beside(o.max-want, o.Sized(want))
			free := o.Most - canary - stable
			toStable := max(o.Keeps(o.max-min(now, want), canary, aim), 1)
			toStable = min(toStable, stable+free)
			free -= max(0, toStable-stable)
			toCanary := max(min(aim, canary+free), min(canary, o.Keeps(now, stable, o.Sized(o.max-want))))
			canary, stable = toCanary, toStable
			if canary+stable > o.Most {
				t.Fatalf("%+v: from %d to %d: %d and %d pods at %d", o, from, want, canary, stable, now)
			}
			bare := o
			bare.minPods = 0
			if canary < bare.least(now) || stable < bare.least(o.max-now) {
				t.Fatalf("%+v: from %d to %d: %d and %d pods carry %d", o, from, want, canary, stable, now)
			}
			now = Move{Now: now, Want: want, Max: o.max, Replicas: o.replicas, Tolerated: o.tolerated, Canary: canary, Stable: stable, Ready: canary >= aim, Gradual: true}.Next()
		}
	}
}
