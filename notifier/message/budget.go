package message

import (
	"errors"
	"reflect"
)

const (
	// work is how many rounds, calls and bytes rendering one template may take.
	work = 4 << 20
	// each is what a round and a call count for, besides what they make.
	each = 32
	// deepest is how many lists and maps may be in one another: one that contains itself has no end.
	deepest = 100
)

var errWork = errors.New("it does too much: loop over less, or build shorter texts")

// budget is what is left of the work of one rendering.
type budget struct{ left int }

func (b *budget) spend(n int) error {
	if n < 0 || n > b.left {
		b.left = 0
		return errWork
	}
	b.left -= n
	return nil
}

// size is the bytes and elements of a value, at most limit+1.
func size(v reflect.Value, limit, depth int) int {
	if depth > deepest {
		return limit + 1
	}
	n := 1
	switch v.Kind() {
	case reflect.String:
		n += v.Len()
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			n += size(v.Elem(), limit-n, depth+1)
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return n + v.Len()
		}
		for i := 0; i < v.Len() && n <= limit; i++ {
			n += size(v.Index(i), limit-n, depth+1)
		}
	case reflect.Map:
		for e := v.MapRange(); n <= limit && e.Next(); {
			n += size(e.Key(), limit-n, depth+1)
			n += size(e.Value(), limit-n, depth+1)
		}
	default:
	}
	return n
}

// charge counts a value.
func (b *budget) charge(v reflect.Value) error {
	return b.spend(size(v, b.left, 0))
}
