package expr

import (
	"context"
	"errors"
	"reflect"
	"time"
)

const (
	// maxText is how many bytes an expression may have, and maxNodes how many parts.
	maxText  = 16 << 10
	maxNodes = 2000
	// maxWork is how much an expression may work through, in elements of lists and bytes of texts: a second at most (see BenchmarkWorst).
	maxWork = 10_000_000
	// maxTimeWork is the same for an expression that stands for an instant: it works through nothing that was measured.
	maxTimeWork = 10_000
	// largest is how large a value may become, counted likewise.
	largest = 2_000_000
)

var (
	errWork = errors.New("it takes too long for what was measured: measure less, or write a simpler condition")
	errSize = errors.New("it makes a value that is too large: write a simpler condition")
)

// run is what one evaluation knows and may still cost.
type run struct {
	ctx   context.Context //nolint:containedctx // the functions of an expression get nothing but their arguments
	now   time.Time
	left  int
	looks int
}

// looksBetween is how often work is counted between two looks at whether anybody still waits for the result.
const looksBetween = 256

func (r *run) spend(n int) error {
	if n > r.left {
		r.left = 0
		return errWork
	}
	r.left -= n
	if r.looks++; r.looks%looksBetween == 0 && r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	return nil
}

// counted returns its first argument when there is enough left to work through it as often as the second one says, and for the third,
// which is added.
func (r *run) counted(args ...any) (any, error) {
	n := size(args[0], largest)
	if n > largest {
		return nil, errSize
	}
	return args[0], r.spend(n*args[1].(int) + args[2].(int))
}

// nested is like counted, for functions that work through what a list contains once for each list that it is in.
func (r *run) nested(args ...any) (any, error) {
	n := size(args[0], largest)
	if n > largest {
		return nil, errSize
	}
	return args[0], r.spend(n * (1 + depth(args[0])) * args[1].(int))
}

// size is how many elements and bytes a value has, with all that is in it. It stops counting above a limit.
func size(value any, limit int) int {
	switch v := value.(type) {
	case nil, bool, int, int64, float64:
		return 1
	case string:
		return 1 + len(v)
	case []float64:
		return 1 + len(v)
	case []int:
		return 1 + len(v)
	case []any:
		n := 1
		for i := 0; i < len(v) && n <= limit; i++ {
			n += size(v[i], limit-n)
		}
		return n
	case map[string]any:
		n := 1
		for key, element := range v {
			if n > limit {
				break
			}
			n += 1 + len(key) + size(element, limit-n)
		}
		return n
	}
	return sizeOther(reflect.ValueOf(value), limit)
}

func sizeOther(v reflect.Value, limit int) int {
	n := 1
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		for i := 0; i < v.Len() && n <= limit; i++ {
			n += size(v.Index(i).Interface(), limit-n)
		}
	case reflect.Map:
		for entries := v.MapRange(); n <= limit && entries.Next(); {
			n += size(entries.Key().Interface(), limit-n) + size(entries.Value().Interface(), limit-n)
		}
	case reflect.String:
		n += v.Len()
	default:
	}
	return n
}

// depth is how many lists and maps are in one another. It is for values whose size was found to be bounded.
func depth(value any) int {
	deepest := 0
	switch v := value.(type) {
	case nil, bool, int, int64, float64, string, []float64, []int:
		return 0
	case []any:
		for _, element := range v {
			deepest = max(deepest, depth(element))
		}
		return 1 + deepest
	}
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			deepest = max(deepest, depth(v.Index(i).Interface()))
		}
		return 1 + deepest
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			deepest = max(deepest, depth(entries.Value().Interface()))
		}
		return 1 + deepest
	default:
		return 0
	}
}
