package plan

import (
	"math/rand/v2"
	"testing"
)

func TestMove(t *testing.T) {
	base := move{max: 100, replicas: 10, tolerated: 2, stable: 10}
	for name, c := range map[string]struct {
		change func(*move)
		want   int32
	}{
		"nothing to do":                             {func(m *move) { m.now, m.want = 20, 20 }, 20},
		"up, with the pods for it":                  {func(m *move) { m.want, m.canary, m.ready = 20, 2, true }, 20},
		"up, without":                               {func(m *move) { m.want, m.canary = 40, 3 }, 0},
		"up, pod by pod":                            {func(m *move) { m.want, m.canary, m.gradual = 40, 3, true }, 30},
		"up, pod by pod, never beyond":              {func(m *move) { m.want, m.canary, m.gradual = 40, 9, true }, 40},
		"up, pod by pod, never back":                {func(m *move) { m.now, m.want, m.canary, m.gradual = 30, 40, 2, true }, 30},
		"up, where a broken stable version is left": {func(m *move) { m.now, m.want, m.canary, m.ready, m.stable = 20, 40, 4, true, 0 }, 40},
		"down, to a whole stable version":           {func(m *move) { m.now, m.canary = 60, 6 }, 0},
		"down, a tolerated number missing":          {func(m *move) { m.now, m.canary, m.stable = 60, 6, 8 }, 0},
		"down, more missing: what can be carried":   {func(m *move) { m.now, m.canary, m.stable = 60, 6, 6 }, 40},
		"down, nobody there":                        {func(m *move) { m.now, m.canary, m.stable = 60, 6, 0 }, 60},
		"down, from pods that are all gone":         {func(m *move) { m.now, m.canary, m.stable = 60, 0, 1 }, 0},
		"down, nobody on either side":               {func(m *move) { m.now, m.canary, m.stable = 60, 0, 0 }, 60},
		"down, by a part":                           {func(m *move) { m.now, m.want, m.canary, m.stable = 60, 50, 6, 3 }, 50},
		"without pods wanted":                       {func(m *move) { m.want, m.replicas, m.stable = 70, 0, 0 }, 70},
	} {
		t.Run(name, func(t *testing.T) {
			m := base
			c.change(&m)
			if got := m.next(); got != c.want {
				t.Errorf("%+v moves to %d, want %d", m, got, c.want)
			}
		})
	}
}

// TestMoveKeepsToWhatPodsCanCarry holds random moves against the rules: between now and want, never to a side without pods while the
// other has some, and a side gets no more than its available pods can carry, but for those that may be missing.
func TestMoveKeepsToWhatPodsCanCarry(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		m := move{max: 100, replicas: 1 + random.Int32N(20), tolerated: random.Int32N(3), gradual: random.IntN(2) == 0}
		m.now, m.want = random.Int32N(101), random.Int32N(101)
		m.canary, m.stable = random.Int32N(m.replicas+1), random.Int32N(m.replicas+1)
		m.ready = m.canary >= share(m.want, m.replicas, m.max)
		if m.want > 0 && m.canary == 0 {
			m.want = 0 // as the caller has it
		}
		next := m.next()
		switch {
		case next < min(m.now, m.want) || next > max(m.now, m.want):
			t.Fatalf("%+v moves to %d, which is not on the way", m, next)
		case next > m.now && m.canary < share(next, m.replicas, m.max)-m.tolerated:
			t.Fatalf("%+v moves up to %d, which %d pods cannot carry", m, next, m.canary)
		case next < m.now && m.canary > 0 && m.stable < share(m.max-next, m.replicas, m.max)-max(m.tolerated, 1):
			t.Fatalf("%+v moves down to %d, which leaves %d to %d pods", m, next, m.max-next, m.stable)
		case next < m.now && m.stable == 0:
			t.Fatalf("%+v moves down to %d, to a version without pods", m, next)
		}
	}
}
