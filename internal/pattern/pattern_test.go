package pattern_test

import (
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/internal/pattern"
)

func TestPatternsAreBounded(t *testing.T) {
	const tooMany = "more than 1000 instructions"
	for name, c := range map[string]struct{ pattern, want string }{
		"a word":                         {"^web-[0-9]+$", ""},
		"a class and a count":            {`\d{1,3}(\.\d{1,3}){3}`, ""},
		"a count that is just in bounds": {"x{990}", ""},
		"a count that is not":            {"x{999}y{9}", tooMany},
		"counts in counts":               {"((x{10}){10}){10}", tooMany},
		"optional ones":                  {"(x?){1000}", tooMany},
		"without an upper bound":         {"(xx){1000,}", tooMany},
		"many counts in a row":           {strings.Repeat("x{99}", 20), tooMany},
		"a long one":                     {strings.Repeat("x", 1001), "has 1001 bytes and may have 1000"},
		"a broken one":                   {"(x", "missing closing )"},
		"one that repeats nothing":       {"(){1000}", tooMany},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := pattern.Compile(c.pattern)
			switch {
			case err == nil && c.want != "":
				t.Errorf("%s is compiled, want an error that says %q", c.pattern, c.want)
			case err != nil && (c.want == "" || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%s: %v, want %q", c.pattern, err, c.want)
			}
		})
	}
}

// FuzzInstructions holds the count to what the compiler makes of a pattern.
func FuzzInstructions(f *testing.F) {
	for _, seed := range []string{"a|b*c+?", `(?i)\pL{3,}`, "^(x?){20}$", "[^a-z]{2}|(?:ab|cd)+", `\bx\B`, "a{0}", "(|a)*", "(?s).{5,9}?"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		counted, err := pattern.Instructions(text)
		if err != nil {
			return
		}
		parsed, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		program, err := syntax.Compile(parsed.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		if made := len(program.Inst); made > counted+2 { // the program begins with two of its own
			t.Errorf("%q compiles to %d instructions, and %d were counted", text, made, counted)
		}
	})
}
