package serve

import (
	"testing"
	"time"
)

// The load is that of the last ten full seconds, and of fewer for a server that is younger.
func TestRate(t *testing.T) {
	const start = 1_000_000
	at := func(second int64) time.Time { return time.Unix(start+second, 0) }
	for name, tc := range map[string]struct {
		from, to int64 // one request in the first of these seconds, two in the next, and so on
		began    int64
		now      int64
		want     float64
	}{
		"nothing yet":                      {now: 5, want: 0},
		"in its first second":              {to: 1, now: 0, want: 0},
		"five seconds of a young one":      {to: 5, now: 5, want: 3},
		"the second that is not over":      {to: 6, now: 5, want: 3},
		"ten seconds":                      {to: 10, now: 10, want: 5.5},
		"only the last ten seconds":        {to: 20, now: 20, want: 15.5},
		"nothing is left after ten others": {to: 5, now: 15, want: 0},
		"a part of it":                     {to: 5, now: 12, want: 1.2}, // 3 + 4 + 5
		"began later":                      {from: 10, to: 15, began: 10, now: 15, want: 3},
	} {
		var m meter
		for second := tc.from; second < tc.to; second++ {
			for range second - tc.from + 1 {
				m.add(at(second).Add(time.Millisecond))
			}
		}
		if got := m.rate(at(tc.began), at(tc.now)); got != tc.want {
			t.Errorf("%s: %v requests per second, want %v", name, got, tc.want)
		}
	}
}
