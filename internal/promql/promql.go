package promql

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/prometheus/promql/parser"
)

// Use is what a query is for.
type Use bool

// A range query needs one value for each step, which a range vector is not.
const (
	Instant Use = false
	Range   Use = true
)

// argument is where a query uses an argument.
var argument = regexp.MustCompile(`\{\{[^{}]*\}\}`)

var (
	// likely are what an argument may stand for: a name, a number, a duration, a matcher, nothing. Inside quotes it is always text.
	likely = []string{"x", "1", "5m", `x="y"`, ""}
	// mostArguments is for how many of them all combinations are tried. With more, only the arguments' values could tell.
	mostArguments = 3
)

// Check returns an error if a query is not PromQL, whatever its arguments are. Functions that are experimental are allowed: a server may have
// them switched on.
func Check(query string, use Use) error {
	experimental()
	quiet := inQuotes(query)
	names := outside(quiet)
	if len(names) > mostArguments {
		return nil
	}
	var first error
	for _, values := range combinations(len(names)) {
		err := parse(argument.ReplaceAllStringFunc(quiet, func(name string) string { return values[slices.Index(names, name)] }), use)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// outside are the arguments of a query in which those inside quotes are filled in, each once.
func outside(query string) []string {
	names := argument.FindAllString(query, -1)
	slices.Sort(names)
	return slices.Compact(names)
}

// combinations are all ways to choose n values, those with the likeliest values first.
func combinations(n int) [][]string {
	all := [][]string{nil}
	for range n {
		var longer [][]string
		for _, start := range all {
			for _, value := range likely {
				longer = append(longer, append(slices.Clone(start), value))
			}
		}
		all = longer
	}
	return all
}

// inQuotes is a query with x for the arguments inside quotes.
func inQuotes(query string) string {
	var b strings.Builder
	var quote byte
	for i := 0; i < len(query); i++ {
		c := query[i]
		switch {
		case quote != 0 && strings.HasPrefix(query[i:], "{{"):
			if at := argument.FindStringIndex(query[i:]); at != nil && at[0] == 0 {
				b.WriteString("x")
				i += at[1] - 1
				continue
			}
		case quote != 0 && c == '\\' && quote != '`' && i+1 < len(query):
			b.WriteByte(c)
			i++
			c = query[i]
		case c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\'' || c == '`'):
			quote = c
		}
		b.WriteByte(c)
	}
	return b.String()
}

// experimental switches on what servers may have switched on. The parser has it for the whole process.
var experimental = sync.OnceFunc(func() {
	parser.EnableExperimentalFunctions, parser.ExperimentalDurationExpr, parser.EnableExtendedRangeSelectors = true, true, true
})

func parse(query string, use Use) error {
	expression, err := parser.ParseExpr(query)
	if err != nil {
		return shortened(err)
	}
	switch kind := expression.Type(); {
	case kind == parser.ValueTypeString:
		return errors.New("the query returns a string, not numbers")
	case use == Range && kind == parser.ValueTypeMatrix:
		return errors.New("the query returns a range vector, but a range query needs one value for each step: use a function such as rate or avg_over_time")
	}
	return nil
}

// shortened is the first of the parser's errors without its position, which counts what was put in the place of arguments.
func shortened(err error) error {
	var all parser.ParseErrors
	if !errors.As(err, &all) || len(all) == 0 {
		return err
	}
	return all[0].Err
}
