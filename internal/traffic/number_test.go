package traffic_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/sluice-delivery/sluice/internal/traffic"
)

func TestNumber(t *testing.T) {
	for name, c := range map[string]struct {
		value any
		want  int64
		ok    bool
	}{
		"a whole number":                {int64(7), 7, true},
		"one of a client for JSON":      {float64(7), 7, true},
		"one that was not decoded":      {json.Number("7"), 7, true},
		"a fraction":                    {1.5, 0, false},
		"a fraction, not decoded":       {json.Number("1.5"), 0, false},
		"more than anything can count":  {1e300, 0, false},
		"all that a float64 can count":  {float64(1<<53 - 1), 1<<53 - 1, true},
		"one more":                      {float64(1 << 53), 0, false},
		"as much below nothing":         {-float64(1 << 53), 0, false},
		"infinitely many":               {math.Inf(1), 0, false},
		"no number":                     {"7", 0, false},
		"nothing":                       {nil, 0, false},
		"a number that Go's own int is": {7, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok := traffic.Number(c.value); got != c.want || ok != c.ok {
				t.Errorf("got %d, %t, want %d, %t", got, ok, c.want, c.ok)
			}
		})
	}
}
