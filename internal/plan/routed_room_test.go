package plan

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
		o := room{replicas: 1 + random.Int32N(30), max: []int32{100, 1000}[random.IntN(2)], tolerated: random.Int32N(3)}
		if random.IntN(10) == 0 {
			o.replicas *= 20
		}
		if surge == 0 {
			o.tolerated++
		}
		o.minPods = random.Int32N(max(1, surge) + 1)
		o.most = max(o.replicas+surge, 2)
		from, want := random.Int32N(o.max+1), random.Int32N(o.max+1)

		var canary, stable int32
		canary = o.beside(o.max-from, o.sized(from))
		stable = max(1, min(o.sized(o.max-from), o.most-canary))
		begun := [2]int32{canary, stable}
		now := from
		for turn := 0; now != want || canary < o.beside(o.max-want, o.sized(want)); turn++ {
			if turn > 3000 {
				t.Fatalf("%+v: from %d to %d, beginning with %d: at %d for ever, with %d and %d pods", o, from, want, begun, now, canary, stable)
			}
			aim := o.beside(o.max-want, o.sized(want))
			free := o.most - canary - stable
			toStable := max(o.keeps(o.max-min(now, want), canary, aim), 1)
			toStable = min(toStable, stable+free)
			free -= max(0, toStable-stable)
			toCanary := max(min(aim, canary+free), min(canary, o.keeps(now, stable, o.sized(o.max-want))))
			canary, stable = toCanary, toStable
			if canary+stable > o.most {
				t.Fatalf("%+v: from %d to %d: %d and %d pods at %d", o, from, want, canary, stable, now)
			}
			bare := o
			bare.minPods = 0
			if canary < bare.least(now) || stable < bare.least(o.max-now) {
				t.Fatalf("%+v: from %d to %d: %d and %d pods carry %d", o, from, want, canary, stable, now)
			}
			now = move{now: now, want: want, max: o.max, replicas: o.replicas, tolerated: o.tolerated, canary: canary, stable: stable, ready: canary >= aim, gradual: true}.next()
		}
	}
}
