package expr

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/expr-lang/expr"
)

// Holds reports whether a condition holds for what was measured.
func Holds(condition string, result any, now time.Time) (bool, error) {
	out, err := evaluate(condition, result, now)
	if err != nil {
		return false, err
	}
	holds, ok := out.(bool)
	if !ok {
		return false, fmt.Errorf("it gives %v, which is neither true nor false: compare it with something", out)
	}
	return holds, nil
}

// Check tells what is wrong with the text of a condition, as far as that does not depend on what is measured.
func Check(condition string) error {
	_, err := compile(condition, time.Time{}, expr.AsBool())
	return err
}

func evaluate(text string, result any, now time.Time) (any, error) {
	program, err := compile(text, now, expr.AsAny())
	if err != nil {
		return nil, err
	}
	out, err := expr.Run(program, environment{Result: result})
	if err != nil {
		return nil, firstLine(err)
	}
	return out, nil
}

// environment is what expressions know. Nothing is known of the result before it is there.
type environment struct {
	Result any `expr:"result"`
}

// firstLine leaves out the drawing of where in the expression the error is: what is left says the place in numbers.
func firstLine(err error) error {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New(text)
}
