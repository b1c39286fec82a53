package expr

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
)

// helpers are the functions that conditions have beside those of the language.
func helpers(r *run) []expr.Option {
	one := func(name string, f func(any) (any, error), kind any) expr.Option {
		return expr.Function(name, func(args ...any) (any, error) {
			if len(args) != 1 {
				return nil, fmt.Errorf("%s takes one value, not %d: give it one", name, len(args))
			}
			return f(args[0])
		}, kind)
	}
	return []expr.Option{
		one("asInt", asInt, new(func(any) int64)),
		one("asFloat", asFloat, new(func(any) float64)),
		one("isNaN", isNaN, new(func(any) bool)),
		one("isInf", isInf, new(func(any) bool)),
		one("isNil", func(v any) (any, error) { return isNil(v), nil }, new(func(any) bool)),
		expr.Function("default", func(args ...any) (any, error) {
			if isNil(args[0]) || isEmptyList(args[0]) {
				return args[1], nil
			}
			return args[0], nil
		}, new(func(any, any) any)),
		expr.Function("now", func(...any) (any, error) { return r.now, nil }, new(func() time.Time)),
		expr.Function(reachName, func(args ...any) (any, error) { return reach(args[0], args[1]), nil }, new(func(any, any) any)),
		expr.Patch(gently{}),
	}
}

func asInt(v any) (any, error) {
	if text, ok := v.(string); ok {
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("asInt: %q is not a whole number: use asFloat, or give it one", text)
		}
		return n, nil
	}
	f, ok := float(v)
	switch {
	case !ok:
		return nil, fmt.Errorf("asInt: %v is not a number: give it one, or the text of one", v)
	case math.IsNaN(f), f >= math.MaxInt64, f < math.MinInt64:
		return nil, fmt.Errorf("asInt: %v is not a whole number: use asFloat, or give it one", v)
	}
	return int64(f), nil
}

func asFloat(v any) (any, error) {
	if text, ok := v.(string); ok {
		f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil {
			return nil, fmt.Errorf("asFloat: %q is not a number: give it one, or the text of one", text)
		}
		return f, nil
	}
	f, ok := float(v)
	if !ok {
		return nil, fmt.Errorf("asFloat: %v is not a number: give it one, or the text of one", v)
	}
	return f, nil
}

func isNaN(v any) (any, error) {
	f, ok := float(v)
	if !ok {
		return nil, fmt.Errorf("isNaN: %v is not a number: convert it with asFloat", v)
	}
	return math.IsNaN(f), nil
}

func isInf(v any) (any, error) {
	f, ok := float(v)
	if !ok {
		return nil, fmt.Errorf("isInf: %v is not a number: convert it with asFloat", v)
	}
	return math.IsInf(f, 0), nil
}

func float(v any) (float64, bool) {
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Float32, reflect.Float64:
		return r.Float(), true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return float64(r.Int()), true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return float64(r.Uint()), true
	default:
		return 0, false
	}
}

func isEmptyList(v any) bool {
	r := reflect.ValueOf(v)
	return (r.Kind() == reflect.Slice || r.Kind() == reflect.Array) && r.Len() == 0
}

// gently makes isNil and default useful for what may not be there: in their first argument an index beyond the end, or a field of
// nothing, is nil instead of an error. So default(result[0], 0) is 0 for a query without a result.
type gently struct{}

// reachName is no word of the language, so that nobody can call it.
const reachName = "·reach"

// Visit is called for every part of an expression.
func (gently) Visit(node *ast.Node) {
	call, ok := (*node).(*ast.CallNode)
	if !ok || len(call.Arguments) == 0 {
		return
	}
	name, ok := call.Callee.(*ast.IdentifierNode)
	if ok && (name.Value == "isNil" || name.Value == "default") {
		call.Arguments[0] = reaching(call.Arguments[0])
	}
}

// reaching is a chain of fields and indexes in which what is missing is nil.
func reaching(node ast.Node) ast.Node {
	switch n := node.(type) {
	case *ast.ChainNode:
		return reaching(n.Node)
	case *ast.MemberNode:
		if !n.Method {
			return call(reachName, reaching(n.Node), n.Property)
		}
	}
	return node
}

func call(name string, args ...ast.Node) ast.Node {
	return &ast.CallNode{Callee: &ast.IdentifierNode{Value: name}, Arguments: args}
}

// reach is a field or an element of a value, nil if there is none.
func reach(value, key any) any {
	v := reflect.ValueOf(value)
	switch v.Kind() {
	case reflect.Map:
		k := reflect.ValueOf(key)
		if !k.IsValid() || !k.Type().AssignableTo(v.Type().Key()) {
			return nil
		}
		if at := v.MapIndex(k); at.IsValid() {
			return at.Interface()
		}
	case reflect.Slice, reflect.Array:
		i, ok := float(key)
		if i < 0 {
			i += float64(v.Len()) // from the end, as elsewhere in the language
		}
		if ok && i >= 0 && i < float64(v.Len()) {
			return v.Index(int(i)).Interface()
		}
	default:
	}
	return nil
}
