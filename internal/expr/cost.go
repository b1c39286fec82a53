package expr

import (
	"fmt"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/parser"

	"github.com/sluice-delivery/sluice/internal/pattern"
)

// countName and nestedName are no words of the language, so that nobody can call them.
const (
	countName  = "·count"
	nestedName = "·nested"
)

// counting has the values counted that something works through, and the rounds of loops.
//
// Each operator and function is charged for what it may cost at worst, for each element or byte of what it is given. A unit of the budget
// is some 100 ns and some 8 bytes of memory at most.
type counting struct{}

const (
	// sorting is for an element that is compared with others: twenty times, each in less time than a round takes.
	sorting = 10
	// making is for functions that make an element of a few bytes: a string is 16 bytes in Go, and an element of a list as many.
	making = 8
	// grouping is for an element that gets an entry of a map and a list of its own.
	grouping = 32
)

// weights are for functions that cost more than one unit for each element or byte.
var weights = map[string]int{
	"sort": sorting, "sortBy": sorting, "median": sorting, "groupBy": grouping,
	"split": making, "splitAfter": making, "fromJSON": making, "keys": making, "values": making, "toPairs": making, "fromPairs": 2 * making,
	"string": making, "toJSON": making, "date": making, "concat": 2, "reverse": 2, "flatten": 2,
}

const (
	// calling is what it costs to find a method and call it, or to read a text as a time.
	calling = 20
	// zone is for a look into the database of time zones, which is a file.
	zone = 2000
)

// Visit is called for every part of an expression, after those that it consists of.
func (counting) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.BuiltinNode:
		countBuiltin(n)
	case *ast.CallNode:
		count(n.Arguments, 1)
		if _, ok := n.Callee.(*ast.MemberNode); ok { // a method of a time
			*node = call(countName, n, number(1), number(calling))
		}
	case *ast.PredicateNode: // the body of a loop
		n.Node = call(countName, n.Node, number(1), number(parts(n.Node)))
	case *ast.VariableDeclaratorNode:
		n.Value = countOne(n.Value, 1)
	case *ast.SliceNode:
		n.Node = countOne(n.Node, 1)
	case *ast.BinaryNode:
		countOperator(n)
	}
}

func countBuiltin(n *ast.BuiltinNode) {
	weight := max(1, weights[n.Name])
	switch n.Name {
	case "timezone", "date", "duration":
		fixed := calling
		if n.Name == "timezone" || len(n.Arguments) > 2 {
			fixed = zone
		}
		n.Arguments[0] = call(countName, n.Arguments[0], number(weight), number(fixed))
		return
	case "flatten", "median", "toJSON":
		for i := range n.Arguments {
			n.Arguments[i] = call(nestedName, n.Arguments[i], number(weight))
		}
		return
	case "sortBy", "groupBy":
		if body, ok := n.Arguments[1].(*ast.PredicateNode); ok {
			body.Node = call(countName, body.Node, number(weight), number(weight))
		}
	}
	count(n.Arguments, weight)
}

func countOperator(n *ast.BinaryNode) {
	switch n.Operator {
	case "in", "contains", "startsWith", "endsWith", "==", "!=", "<", ">", "<=", ">=", "+":
		n.Left, n.Right = countOne(n.Left, 1), countOne(n.Right, 1)
	case "matches":
		if constant, ok := n.Right.(*ast.StringNode); ok {
			// It was found to be within bounds before.
			instructions, _ := pattern.Instructions(constant.Value)
			n.Left = call(countName, n.Left, number(instructions), number(0))
		}
	}
}

func count(args []ast.Node, weight int) {
	for i := range args {
		args[i] = countOne(args[i], weight)
	}
}

// countOne leaves alone what is no larger than the expression itself, and what has to be seen as it is.
func countOne(node ast.Node, weight int) ast.Node {
	switch node.(type) {
	case *ast.NilNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.StringNode, *ast.ConstantNode, *ast.PredicateNode:
		return node
	}
	return call(countName, node, number(weight), number(0))
}

func number(n int) ast.Node { return &ast.IntegerNode{Value: n} }

// parts is how many parts a piece of an expression has, as they were counted into it: each round of a loop goes through all of them.
func parts(node ast.Node) int {
	var all tally
	ast.Walk(&node, &all)
	return int(all)
}

type tally int

// Visit counts a part.
func (t *tally) Visit(*ast.Node) { *t++ }

// costly is a function of the language that may take much longer, or make much more, than the size of its arguments.
func (r *run) costly(name string) expr.Option {
	original := builtin.Builtins[builtin.Index[name]]
	return expr.Function(name, func(args ...any) (any, error) {
		cost := 1
		for _, arg := range args {
			n := size(arg, largest)
			if i, ok := float(arg); ok { // of repeat
				n = max(0, int(min(i, largest)))
			}
			cost *= 1 + n // at most 2 million at each step, and never more than the check below lets through
			if cost > largest {
				return nil, errSize
			}
		}
		if name == "uniq" {
			cost *= cost
		}
		if err := r.spend(cost); err != nil {
			return nil, err
		}
		if original.Safe != nil {
			out, _, err := original.Safe(args...)
			return out, err
		}
		return original.Func(args...)
	})
}

// checkPatterns refuses patterns of `matches` that may cost too much, before anything compiles them. The library compiles those that are
// written down once, and others in every round of a loop.
func checkPatterns(text string) error {
	tree, err := parser.Parse(text)
	if err != nil {
		return firstLine(err)
	}
	var p patterns
	ast.Walk(&tree.Node, &p)
	return p.err
}

// patterns finds what is wrong with the patterns of an expression.
type patterns struct {
	instructions int
	err          error
}

// Visit is called for every part of an expression.
func (p *patterns) Visit(node *ast.Node) {
	n, ok := (*node).(*ast.BinaryNode)
	if !ok || n.Operator != "matches" || p.err != nil {
		return
	}
	constant, ok := n.Right.(*ast.StringNode)
	if !ok {
		p.err = fmt.Errorf("the pattern %s of `matches` is computed: write it down as a text in quotes", strings.TrimSpace(n.Right.String()))
		return
	}
	instructions, err := pattern.Instructions(constant.Value)
	p.instructions += instructions
	switch {
	case err != nil:
		p.err = fmt.Errorf("`matches`: %w", err)
	case p.instructions > pattern.MaxInstructions:
		p.err = fmt.Errorf("its patterns compile to more than %d instructions together: write fewer, or shorter ones", pattern.MaxInstructions)
	}
}
