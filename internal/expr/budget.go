package expr

import (
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/vm"
)

const (
	// mostNodes is how many parts an expression may have.
	mostNodes = 2000
	// mostWork is how much an expression may work through, in elements of lists and bytes of texts. It takes a second at most.
	mostWork = 10_000_000
	// largest is how large a value may become, counted likewise.
	largest = 4_000_000
)

var (
	errWork = errors.New("it takes too long for what was measured: measure less, or write a simpler condition")
	errSize = errors.New("it makes a value that is too large: write a simpler condition")
)

// compile makes a program that may run once: what it may cost is counted in it.
func compile(text string, now time.Time, as expr.Option) (*vm.Program, error) {
	b := &budget{left: mostWork}
	options := []expr.Option{
		expr.Env(environment{}),
		as,
		expr.MaxNodes(mostNodes),
		expr.Optimize(false), // it would work before anything is counted
	}
	options = append(options, helpers(now)...)
	options = append(options, expr.Function(countName, b.counted, new(func(any) any)), expr.Patch(counting{}))
	for _, name := range []string{"replace", "repeat", "join", "uniq"} {
		options = append(options, b.costly(name))
	}
	program, err := expr.Compile(text, options...)
	if err != nil {
		return nil, firstLine(err)
	}
	return program, nil
}

// budget is what one evaluation may still cost.
type budget struct{ left int }

func (b *budget) spend(n int) error {
	b.left -= n
	if b.left < 0 {
		return errWork
	}
	return nil
}

// counted returns its argument when there is enough left to work through it.
func (b *budget) counted(args ...any) (any, error) {
	n := size(args[0], largest)
	if n > largest {
		return nil, errSize
	}
	return args[0], b.spend(n)
}

// countName is no word of the language, so that nobody can call it.
const countName = "·count"

// counting has the values counted that something works through, and the rounds of loops.
type counting struct{}

// Visit is called for every part of an expression.
func (counting) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.BuiltinNode:
		count(n.Arguments)
	case *ast.CallNode:
		count(n.Arguments)
	case *ast.PredicateNode: // the body of a loop
		n.Node = call(countName, n.Node)
	case *ast.VariableDeclaratorNode:
		n.Value = countOne(n.Value)
	case *ast.BinaryNode:
		if slices.Contains([]string{"in", "contains", "matches", "startsWith", "endsWith", "==", "!=", "+"}, n.Operator) {
			n.Left, n.Right = countOne(n.Left), countOne(n.Right)
		}
	}
}

func count(args []ast.Node) {
	for i := range args {
		args[i] = countOne(args[i])
	}
}

// countOne leaves alone what is no larger than the expression itself, and what has to be seen as it is.
func countOne(node ast.Node) ast.Node {
	switch node.(type) {
	case *ast.NilNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.StringNode, *ast.ConstantNode, *ast.PredicateNode:
		return node
	}
	return call(countName, node)
}

// costly is a function of the language that may take much longer, or make much more, than the size of its arguments.
func (b *budget) costly(name string) expr.Option {
	original := builtin.Builtins[builtin.Index[name]]
	return expr.Function(name, func(args ...any) (any, error) {
		cost := 1
		for _, arg := range args {
			n := size(arg, largest)
			if i, ok := float(arg); ok { // of repeat
				n = max(0, int(min(i, largest)))
			}
			cost *= 1 + n // at most 4 million at each step, and never more than the check below lets through
			if cost > largest {
				return nil, errSize
			}
		}
		if name == "uniq" {
			cost *= cost
		}
		if err := b.spend(cost); err != nil {
			return nil, err
		}
		if original.Safe != nil {
			out, _, err := original.Safe(args...)
			return out, err
		}
		return original.Func(args...)
	})
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
	}
	n := 1
	switch v := reflect.ValueOf(value); v.Kind() {
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
