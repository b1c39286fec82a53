package play

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-delivery/sluice/internal/spelling"
	"github.com/sluice-delivery/sluice/internal/view"
)

// Expectation is an assertion about a simulation.
type Expectation struct {
	text  string
	holds func(view.Played) (bool, string)
}

// words are the expectations that are single words.
var words = map[string]func(view.Played) bool{
	"promoted": func(p view.Played) bool { return p.Promoted },
	"aborted":  func(p view.Played) bool { return p.Aborted },
	"healthy":  func(p view.Played) bool { return p.Phase == "Healthy" },
	"degraded": func(p view.Played) bool { return p.Phase == "Degraded" },
	"paused":   func(p view.Played) bool { return p.Phase == "Paused" },
}

// quantities are what can be compared with a number, or with a duration.
var quantities = map[string]func(view.Played) float64{
	"duration":     func(p view.Played) float64 { return time.Duration(p.Duration).Seconds() },
	"max-pods":     func(p view.Played) float64 { return float64(p.MostPods) },
	"min-capacity": func(p view.Played) float64 { return float64(p.LeastAvailable) },
}

// Expect reads "promoted", "duration<20m" or "min-capacity>=8".
func Expect(text string) (Expectation, error) {
	at := strings.IndexAny(text, "<>=")
	if at < 0 {
		word := strings.TrimSpace(text)
		is, ok := words[word]
		if !ok {
			return Expectation{}, unknown(word)
		}
		return Expectation{text, func(p view.Played) (bool, string) { return is(p), "it ends " + state(p) }}, nil
	}
	name, rest := strings.TrimSpace(text[:at]), text[at:]
	quantity, ok := quantities[name]
	switch {
	case words[name] != nil:
		return Expectation{}, fmt.Errorf("%q has nothing to be compared with: write %q alone", name, name)
	case !ok:
		return Expectation{}, unknown(name)
	}
	operator := rest[:len(rest)-len(strings.TrimLeft(rest, "<>="))]
	value := strings.TrimSpace(rest[len(operator):])
	limit, err := number(name, value)
	if err != nil {
		return Expectation{}, err
	}
	compare, ok := map[string]func(a, b float64) bool{
		"<": func(a, b float64) bool { return a < b }, "<=": func(a, b float64) bool { return a <= b },
		">": func(a, b float64) bool { return a > b }, ">=": func(a, b float64) bool { return a >= b },
		"=": func(a, b float64) bool { return a == b }, "==": func(a, b float64) bool { return a == b },
	}[operator]
	if !ok {
		return Expectation{}, fmt.Errorf("%q in %q is not one of <, <=, >, >=, =", operator, text)
	}
	return Expectation{text, func(p view.Played) (bool, string) {
		have := quantity(p)
		shown := strconv.FormatFloat(have, 'f', -1, 64)
		if name == "duration" {
			shown = p.Duration.String()
		}
		return compare(have, limit), name + " is " + shown
	}}, nil
}

func number(name, value string) (float64, error) {
	if name == "duration" {
		d, err := time.ParseDuration(value)
		if err != nil {
			return 0, fmt.Errorf("%q is not a duration: write for example 90s or 20m", value)
		}
		return d.Seconds(), nil
	}
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number of pods", value)
	}
	return float64(n), nil
}

func unknown(word string) error {
	known := []string{"promoted", "aborted", "healthy", "degraded", "paused", "duration", "max-pods", "min-capacity"}
	if near := spelling.Nearest(word, known); near != "" && word != "" {
		return fmt.Errorf("--expect %q is not a condition: did you mean %q?", word, near)
	}
	return fmt.Errorf("--expect %q is not a condition: write one of %s", word, strings.Join(known, ", "))
}

func state(p view.Played) string {
	text := p.Phase
	if p.Message != "" {
		text += " (" + p.Message + ")"
	}
	return text
}

// Check returns what is not so, nil if it holds.
func (e Expectation) Check(p view.Played) error {
	if ok, have := e.holds(p); !ok {
		return fmt.Errorf("expected %s: %s", e.text, have)
	}
	return nil
}
