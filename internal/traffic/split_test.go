package traffic_test

import (
	"math"
	"testing"

	"github.com/sluice-delivery/sluice/internal/traffic"
)

// A share is a whole number of units, or lies between two of them. What is no share of anything is none.
func TestPortion(t *testing.T) {
	for name, row := range map[string]struct {
		weight, total int64
		most          int32
		want          traffic.Interval
		ok            bool
	}{
		"a fifth, in percent":         {20, 100, 100, traffic.Interval{Least: 20, Most: 20}, true},
		"a third, in percent":         {1, 3, 100, traffic.Interval{Least: 33, Most: 34}, true},
		"a third, of three":           {1, 3, 3, traffic.Interval{Least: 1, Most: 1}, true},
		"none":                        {0, 7, 100, traffic.Interval{}, true},
		"all":                         {7, 7, 1_000_000, traffic.Interval{Least: 1_000_000, Most: 1_000_000}, true},
		"of the largest total":        {1 << 30, 1 << 31, 100, traffic.Interval{Least: 50, Most: 50}, true},
		"in no units":                 {1, 2, 0, traffic.Interval{}, true},
		"of more than weights can be": {1 << 30, 1<<31 + 1, 100, traffic.Interval{}, false},
		"of nothing":                  {0, 0, 100, traffic.Interval{}, false},
		"of less than nothing":        {-2, -1, 100, traffic.Interval{}, false},
		"less than nothing":           {-1, 100, 100, traffic.Interval{}, false},
		"more than there is":          {101, 100, 100, traffic.Interval{}, false},
		"in less than no units":       {1, 2, -1, traffic.Interval{}, false},
		"an overflow":                 {math.MaxInt64, math.MaxInt64, 100, traffic.Interval{}, false},
	} {
		if got, ok := traffic.Portion(row.weight, row.total, row.most); got != row.want || ok != row.ok {
			t.Errorf("%s: %v, %t; want %v, %t", name, got, ok, row.want, row.ok)
		}
	}
}
