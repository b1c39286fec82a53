package traffic

import (
	"encoding/json"
	"math"
)

// Number reads a whole number from an object, of which clients may have made an int64, a float64 or a [json.Number].
func Number(value any) (int64, bool) {
	switch n := value.(type) {
	case int64:
		return n, true
	case float64:
		if n == math.Trunc(n) && math.Abs(n) < 1<<53 {
			return int64(n), true
		}
	case json.Number:
		whole, err := n.Int64()
		return whole, err == nil
	}
	return 0, false
}
