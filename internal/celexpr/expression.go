// Package celexpr compiles and evaluates CEL expressions that users write, within bounds: an expression has a length, an evaluation a cost,
// and a result a size. Equal expressions are compiled once.
package celexpr

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/ext"
	"k8s.io/utils/lru"
)

const (
	// Longest is how many bytes an expression may have.
	Longest = 2048
	// mostOnce is the cost of one evaluation, in CEL's own units; a Budget has those of all evaluations for one object.
	mostOnce, mostInAll = 50_000, 1_000_000
	// least is what any evaluation costs, so that the number of evaluations is bounded too.
	least = 50
	// mostValues and mostText bound a result: the values in it, and the bytes of its texts.
	mostValues, mostText = 5_000, 64 << 10
	// deepest is how many levels a result may have.
	deepest = 32
	// remembered is how many compiled expressions are kept.
	remembered = 256
)

// Expression is one that has been compiled once. It is plain data: what was compiled is remembered elsewhere.
type Expression struct{ text, variables string }

type compiled struct {
	program cel.Program
	err     error
}

var known = lru.New(remembered)

// environments have the functions that expressions may call, by the names of the variables.
var environments sync.Map

// Compile compiles an expression that uses these variables, each of any type.
func Compile(text string, variables ...string) (Expression, error) {
	if len(text) > Longest {
		return Expression{}, fmt.Errorf("it has %d bytes, and an expression may have %d", len(text), Longest)
	}
	e := Expression{text, strings.Join(variables, ",")}
	if _, err := e.program(); err != nil {
		return Expression{}, err
	}
	return e, nil
}

func (e Expression) program() (cel.Program, error) {
	if found, ok := known.Get(e); ok {
		return found.(compiled).program, found.(compiled).err
	}
	program, err := compile(e.text, e.variables)
	known.Add(e, compiled{program, err})
	return program, err
}

func compile(text, variables string) (cel.Program, error) {
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("it is empty")
	}
	env, err := environment(variables)
	if err != nil {
		return nil, err
	}
	ast, issues := env.Compile(text)
	if err := issues.Err(); err != nil {
		return nil, oneLine(err)
	}
	program, err := env.Program(ast, cel.CostLimit(mostOnce), cel.EvalOptions(cel.OptTrackCost))
	if err != nil {
		return nil, oneLine(err)
	}
	return program, nil
}

func environment(variables string) (*cel.Env, error) {
	if env, ok := environments.Load(variables); ok {
		return env.(*cel.Env), nil
	}
	options := []cel.EnvOption{ext.Strings(), cel.OptionalTypes()}
	for _, variable := range strings.Split(variables, ",") {
		options = append(options, cel.Variable(variable, cel.DynType))
	}
	env, err := cel.NewEnv(options...)
	if err != nil {
		return nil, fmt.Errorf("set up CEL: %w", err)
	}
	environments.Store(variables, env)
	return env, nil
}

// oneLine leaves out the picture of the expression that CEL draws below each of its complaints.
func oneLine(err error) error {
	var lines []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "|") {
			lines = append(lines, strings.TrimPrefix(line, "ERROR: <input>:"))
		}
	}
	return errors.New(strings.Join(lines, "; "))
}

// Budget is what all evaluations for one object may cost.
type Budget struct {
	spent    uint64
	programs map[Expression]cel.Program
}

// ErrCost is that the expressions of an object cost too much.
var ErrCost = errors.New("the expressions cost more than they may for one object: shorten them, or the object")

// Eval evaluates an expression. The result is what decoded JSON has: nil, a bool, an int64, a float64, a string, a list, or a map.
func (b *Budget) Eval(e Expression, variables map[string]any) (any, error) {
	if b.spent >= mostInAll {
		return nil, ErrCost
	}
	program, err := b.program(e)
	if err != nil {
		return nil, err
	}
	value, details, err := program.Eval(variables)
	b.spent += least
	if details != nil && details.ActualCost() != nil {
		b.spent += *details.ActualCost()
	}
	if err != nil {
		return nil, oneLine(err)
	}
	size := size{values: mostValues, text: mostText}
	return size.plain(value, 0)
}

func (b *Budget) program(e Expression) (cel.Program, error) {
	if program := b.programs[e]; program != nil {
		return program, nil
	}
	program, err := e.program()
	if err != nil {
		return nil, err
	}
	if b.programs == nil {
		b.programs = map[Expression]cel.Program{}
	}
	b.programs[e] = program
	return program, nil
}

// size is what is left of the bounds of a result.
type size struct{ values, text int }

func (s *size) plain(value ref.Val, depth int) (any, error) {
	if s.values--; s.values < 0 || s.text < 0 || depth > deepest {
		return nil, errors.New("the result is too large")
	}
	switch v := value.(type) {
	case types.Null:
		return nil, nil //nolint:nilnil // JSON's null
	case types.Bool:
		return bool(v), nil
	case types.Int:
		return int64(v), nil
	case types.Uint:
		return int64(v), nil
	case types.Double:
		return float64(v), nil
	case types.String:
		s.text -= len(v)
		return string(v), nil
	case *types.Optional:
		if !v.HasValue() {
			return nil, nil //nolint:nilnil // JSON's null
		}
		return s.plain(v.GetValue(), depth+1)
	case traits.Mapper:
		return s.plainMap(v, depth)
	case traits.Lister:
		return s.plainList(v, depth)
	}
	return nil, fmt.Errorf("the result has a %s, which JSON has not", value.Type().TypeName())
}

func (s *size) plainMap(m traits.Mapper, depth int) (any, error) {
	out := map[string]any{}
	for keys := m.Iterator(); keys.HasNext() == types.True; {
		key := keys.Next()
		name, ok := key.(types.String)
		if !ok {
			return nil, errors.New("the result has a map whose keys are no texts")
		}
		s.text -= len(name)
		value, err := s.plain(m.Get(key), depth+1)
		if err != nil {
			return nil, err
		}
		out[string(name)] = value
	}
	return out, nil
}

func (s *size) plainList(l traits.Lister, depth int) (any, error) {
	out := []any{}
	for entries := l.Iterator(); entries.HasNext() == types.True; {
		value, err := s.plain(entries.Next(), depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, value)
	}
	return out, nil
}
