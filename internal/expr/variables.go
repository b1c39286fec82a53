package expr

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// With returns what an expression gives when it has these variables, such as `rollout.status.phase == "Degraded"`. It is bounded like a
// condition. No variable may be called result, which is a word of conditions.
func With(ctx context.Context, text string, variables map[string]any, now time.Time) (any, error) {
	return evaluate(ctx, declared(text, slices.Sorted(maps.Keys(variables))), variables, now, maxWork)
}

// CheckWith tells what is wrong with the text of an expression that has variables of these names.
func CheckWith(text string, names ...string) error {
	text = declared(text, slices.Sorted(slices.Values(names)))
	p, _, err := programs.take(text)
	if err == nil {
		programs.put(text, p)
	}
	return err
}

// declared is the expression with its variables, each of which is a field of what it works on.
func declared(text string, names []string) string {
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "let %s = result.%s; ", name, name)
	}
	return b.String() + text
}
