package metric

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// None is the error of an answer without data.
type None string

// Error is its text.
func (n None) Error() string { return string(n) }

// Conclude is the reading of a value, or why there is none. An answer without data is read as the metric says.
func (r Request) Conclude(question string, value any, text string, err error) (Reading, error) {
	var none None
	switch {
	case errors.As(err, &none):
		return r.Nothing(question, err)
	case err != nil:
		return Reading{}, fmt.Errorf("%s: %w", question, err)
	}
	return Measured(question, value, text), nil
}

// Profile reads the Secret in the controller's namespace that a metric names, and hides the value of its key secret. Spaces around values do not count.
func (r Request) Profile(ctx context.Context, name, secret string) (map[string]string, error) {
	values, err := r.Keys.Secret(ctx, "", name)
	if err != nil {
		return nil, err
	}
	trimmed := make(map[string]string, len(values))
	for key, value := range values {
		trimmed[key] = strings.TrimSpace(value)
	}
	r.Keys.Hide(trimmed[secret])
	return trimmed, nil
}

// Span is a time of which is asked.
type Span struct{ From, To time.Time }

// Last is the time of a length that ends now.
func Last(length time.Duration, now time.Time) Span { return Span{now.Add(-length), now} }

// String is the time in words.
func (s Span) String() string {
	return fmt.Sprintf("from %s to %s", s.From.UTC().Format(time.RFC3339), s.To.UTC().Format(time.RFC3339))
}

// Numbers is how a list of numbers is shown.
func Numbers(values []float64) string {
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = strconv.FormatFloat(value, 'f', -1, 64)
	}
	return "[" + strings.Join(texts, ",") + "]"
}

// OneLine is a query as messages show it.
func OneLine(query string) string { return strings.Join(strings.Fields(query), " ") }
