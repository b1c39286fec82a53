package expr

import (
	"fmt"
	"reflect"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"
)

// program is an expression that was compiled. It has room for one evaluation at a time: what that may cost is counted in its run.
type program struct {
	code *vm.Program
	run  *run
}

// compile makes a program.
func compile(text string) (*program, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("it has %d bytes and may have %d: write a shorter one", len(text), maxText)
	}
	if err := checkPatterns(text); err != nil {
		return nil, err
	}
	r := &run{}
	options := []expr.Option{
		expr.Env(environment{}),
		expr.AsAny(),
		expr.MaxNodes(maxNodes),
		expr.Optimize(false), // it would work before anything is counted
	}
	options = append(options, helpers(r)...)
	options = append(options,
		expr.Function(countName, r.counted, new(func(any, int, int) any)),
		expr.Function(nestedName, r.nested, new(func(any, int) any)),
		expr.Patch(counting{}))
	for _, name := range []string{"replace", "repeat", "join", "uniq", "trim"} {
		options = append(options, r.costly(name))
	}
	code, err := expr.Compile(text, options...)
	if err != nil {
		return nil, firstLine(err)
	}
	return &program{code: code, run: r}, nil
}

// giveTruth reports an expression that can never be true or false.
func (p *program) giveTruth() error {
	t := p.code.Node().Type()
	switch {
	case t == nil:
		return fmt.Errorf("expected bool, but got nil: compare it with something")
	case t.Kind() == reflect.Bool, t.Kind() == reflect.Interface:
		return nil
	}
	return fmt.Errorf("expected bool, but got %s: compare it with something", t)
}
