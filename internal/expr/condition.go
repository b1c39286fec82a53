package expr

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/expr-lang/expr"
)

// Holds reports whether a condition holds for what was measured. It ends early with the cause of ctx when ctx ends; how long it takes does
// not depend on that, only on the condition and on what was measured.
func Holds(ctx context.Context, condition string, result any, now time.Time) (bool, error) {
	out, err := evaluate(ctx, condition, result, now, maxWork)
	if err != nil {
		return false, err
	}
	holds, ok := out.(bool)
	if !ok {
		return false, fmt.Errorf("it gives %s, which is neither true nor false: compare it with something", brief(out))
	}
	return holds, nil
}

// Check tells what is wrong with the text of a condition, as far as that does not depend on what is measured.
func Check(condition string) error { return programs.check(condition) }

func evaluate(ctx context.Context, text string, result any, now time.Time, work int) (any, error) {
	p, _, err := programs.take(text)
	if err != nil {
		return nil, err
	}
	defer programs.put(text, p)
	*p.run = run{ctx: ctx, now: now, left: work}
	return runProgram(p, result)
}

func runProgram(p *program, result any) (any, error) {
	out, err := expr.Run(p.code, environment{Result: result})
	if err != nil {
		return nil, firstLine(err)
	}
	return out, nil
}

// maxShown is how large a value may be that a message shows.
const maxShown = 200

// brief is a value in a message. One value may be in a list many times, so that a list of a few elements may be long when it is written.
func brief(value any) string {
	if size(value, maxShown) > maxShown {
		return fmt.Sprintf("a large %s", reflect.TypeOf(value).Kind())
	}
	return fmt.Sprint(value)
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
