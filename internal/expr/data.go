package expr

import (
	"math"
	"reflect"
)

// IsEmpty reports whether there is nothing to judge in what was measured: no value, a list or an object without any, or nothing but
// values that are not a number.
func IsEmpty(result any) bool {
	if isNil(result) {
		return true
	}
	v := reflect.ValueOf(result)
	switch v.Kind() {
	case reflect.Float32, reflect.Float64:
		return math.IsNaN(v.Float())
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if !IsEmpty(v.Index(i).Interface()) {
				return false
			}
		}
		return true
	case reflect.Map, reflect.String:
		return v.Len() == 0
	default:
		return false
	}
}

func isNil(value any) bool {
	if value == nil {
		return true
	}
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface, reflect.Chan, reflect.Func:
		return v.IsNil()
	default:
		return false
	}
}
