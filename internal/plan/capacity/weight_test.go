package capacity

import (
	"math/rand/v2"
	"testing"
)

func TestMove(t *testing.T) {
	base := Move{Max: 100, Replicas: 10, Tolerated: 2, Stable: 10}
	for name, c := range map[string]struct {
		change func(*Move)
		want   int32
	}{
		"nothing to do":                             {func(m *Move) { m.Now, m.Want = 20, 20 }, 20},
		"up, with the pods for it":                  {func(m *Move) { m.Want, m.Canary, m.Ready = 20, 2, true }, 20},
		"up, without":                               {func(m *Move) { m.Want, m.Canary = 40, 3 }, 0},
		"up, pod by pod":                            {func(m *Move) { m.Want, m.Canary, m.Gradual = 40, 3, true }, 30},
		"up, pod by pod, never beyond":              {func(m *Move) { m.Want, m.Canary, m.Gradual = 40, 9, true }, 40},
		"up, pod by pod, never back":                {func(m *Move) { m.Now, m.Want, m.Canary, m.Gradual = 30, 40, 2, true }, 30},
		"up, where a broken stable version is left": {func(m *Move) { m.Now, m.Want, m.Canary, m.Ready, m.Stable = 20, 40, 4, true, 0 }, 40},
		"down, to a whole stable version":           {func(m *Move) { m.Now, m.Canary = 60, 6 }, 0},
		"down, a tolerated number missing":          {func(m *Move) { m.Now, m.Canary, m.Stable = 60, 6, 8 }, 0},
		"down, more missing: what can be carried":   {func(m *Move) { m.Now, m.Canary, m.Stable = 60, 6, 6 }, 40},
		"down, nobody there":                        {func(m *Move) { m.Now, m.Canary, m.Stable = 60, 6, 0 }, 60},
		"down, from pods that are all gone":         {func(m *Move) { m.Now, m.Canary, m.Stable = 60, 0, 1 }, 0},
		"down, nobody on either side":               {func(m *Move) { m.Now, m.Canary, m.Stable = 60, 0, 0 }, 60},
		"down, by a part":                           {func(m *Move) { m.Now, m.Want, m.Canary, m.Stable = 60, 50, 6, 3 }, 50},
		"back, with the pods for it":                {func(m *Move) { m.Now, m.Want, m.Canary, m.Ready, m.Unseen = 40, 40, 4, true, true }, 40},
		"back, with as few as the step asks for":    {func(m *Move) { m.Now, m.Want, m.Canary, m.Ready, m.Unseen = 40, 40, 1, true, true }, 40},
		"back, without: what can be carried":        {func(m *Move) { m.Now, m.Want, m.Canary, m.Unseen = 40, 40, 3, true }, 30},
		"back and up, pod by pod":                   {func(m *Move) { m.Now, m.Want, m.Canary, m.Unseen, m.Gradual = 40, 60, 3, true, true }, 30},
		"back and down, nobody there":               {func(m *Move) { m.Now, m.Want, m.Canary, m.Stable, m.Unseen = 60, 40, 3, 0, true }, 60},
		"back, without its only pod":                {func(m *Move) { m.Now, m.Want, m.Unseen, m.Replicas, m.Stable = 40, 40, true, 1, 1 }, 0},
		"without pods wanted":                       {func(m *Move) { m.Want, m.Replicas, m.Stable = 70, 0, 0 }, 70},
	} {
		t.Run(name, func(t *testing.T) {
			m := base
			c.change(&m)
			if got := m.Next(); got != c.want {
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
		m := Move{Max: 100, Replicas: 1 + random.Int32N(20), Tolerated: random.Int32N(3), Gradual: random.IntN(2) == 0}
		m.Now, m.Want = random.Int32N(101), random.Int32N(101)
		m.Canary, m.Stable = random.Int32N(m.Replicas+1), random.Int32N(m.Replicas+1)
		m.Ready = m.Canary >= Share(m.Want, m.Replicas, m.Max)
		if m.Want > 0 && m.Canary == 0 {
			m.Want = 0 // as the caller has it
		}
		next := m.Next()
		switch {
		case next < min(m.Now, m.Want) || next > max(m.Now, m.Want):
			t.Fatalf("%+v moves to %d, which is not on the way", m, next)
		case next > m.Now && m.Canary < Share(next, m.Replicas, m.Max)-m.Tolerated:
			t.Fatalf("%+v moves up to %d, which %d pods cannot carry", m, next, m.Canary)
		case next < m.Now && m.Canary > 0 && m.Stable < Share(m.Max-next, m.Replicas, m.Max)-max(m.Tolerated, 1):
			t.Fatalf("%+v moves down to %d, which leaves %d to %d pods", m, next, m.Max-next, m.Stable)
		case next < m.Now && m.Stable == 0:
			t.Fatalf("%+v moves down to %d, to a version without pods", m, next)
		}
	}
}
