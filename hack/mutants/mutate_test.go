package main

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMutants: which mutants a line has. Those that do not compile are left out.
func TestMutants(t *testing.T) {
	for name, test := range map[string]struct {
		body string
		want []string
	}{
		"a comparison has its boundary moved, and is negated": {
			"return n < m",
			[]string{"boundary moved: return n <= m", "negated: return n >= m"},
		},
		"equality is negated": {"return n == m", []string{"negated: return n != m"}},
		"operands of && are ignored, negated and joined otherwise": {
			"return ok && is(n)",
			[]string{
				"&& and || swapped: return ok || is(n)",
				"negated: return !ok && is(n)",
				"negated: return ok && !is(n)",
				"operand ignored: return (ok || true) && is(n)",
				"operand ignored: return ok && (is(n) || true)",
			},
		},
		"operands of || are ignored by being false": {
			"return ok || !ok",
			[]string{
				"&& and || swapped: return ok && !ok",
				"negated: return !ok || !ok",
				"negated: return ok || ok",
				"operand ignored: return (ok && false) || !ok",
				"operand ignored: return ok || (!ok && false)",
			},
		},
		"operands of a chain are ignored one by one, and keep together": {
			"return ok || n < m && ok || is(n)",
			[]string{
				"&& and || swapped: return ok && n < m && ok || is(n)",
				"&& and || swapped: return ok || n < m && ok && is(n)",
				"&& and || swapped: return ok || n < m || ok || is(n)",
				"boundary moved: return ok || n <= m && ok || is(n)",
				"negated: return !ok || n < m && ok || is(n)",
				"negated: return ok || n < m && !ok || is(n)",
				"negated: return ok || n < m && ok || !is(n)",
				"negated: return ok || n >= m && ok || is(n)",
				"operand ignored: return (ok && false) || n < m && ok || is(n)",
				"operand ignored: return ok || ((n < m && ok) && false) || is(n)",
				"operand ignored: return ok || ((n < m) || true) && ok || is(n)",
				"operand ignored: return ok || n < m && (ok || true) || is(n)",
				"operand ignored: return ok || n < m && ok || (is(n) && false)",
			},
		},
		"an early exit is taken never": {
			"if ok {\nreturn ok\n}\nreturn ok",
			[]string{
				"exit removed: if (ok) && false {", "negated: if !ok {", "negated: return !ok", "negated: return !ok",
			},
		},
		"a condition without an exit is only negated": {
			"if ok {\nis(n)\n}\nreturn ok",
			[]string{"negated: if !ok {", "negated: return !ok", "statement removed: "},
		},
		"cases of a switch without a tag are conditions": {
			"switch {\ncase ok:\nn = m\n}\nreturn ok",
			[]string{"negated: case !ok:", "negated: return !ok", "operand ignored: case (ok) && false:", "statement removed: "},
		},
		"constants are one more and one less, and booleans the other": {
			"n = 3\nreturn true",
			[]string{"constant changed: n = 2", "constant changed: n = 4", "constant changed: return false", "statement removed: "},
		},
		"less than zero has parentheses": {"n = m-0\nreturn false", []string{
			"constant changed: n = m-(-1)", "constant changed: n = m-1", "constant changed: return true", "operator swapped: n = m+0", "statement removed: ",
		}},
		"numbers are subtracted instead of added, texts are not": {
			"n += m\ns += s\nn--\nreturn is(min(n, m)+m)",
			[]string{
				"negated: return !is(min(n, m)+m)",
				"operator swapped: n -= m", "operator swapped: n++", "operator swapped: return is(max(n, m)+m)", "operator swapped: return is(min(n, m)-m)",
				"statement removed: ", "statement removed: ", "statement removed: ",
			},
		},
		"what an assignment calls is still called": {
			"ok = is(n)\nreturn ok",
			[]string{"negated: return !ok", "statement removed: _ = is(n)"},
		},
		"loops keep their step, and sizes their hint": {
			"for i := n; i < m; i++ {\n_ = make([]int, 0, 7)\n}\nreturn ok",
			[]string{
				"boundary moved: for i := n; i <= m; i++ {", "negated: for i := n; i >= m; i++ {", "negated: return !ok",
			},
		},
		"a loop is left out of, or gone on with, never": {
			"for range n {\nif ok {\nn++\ncontinue\n}\nm++\nbreak\n}\nreturn ok",
			[]string{
				"exit removed: ", "exit removed: ", "exit removed: if (ok) && false {", "negated: if !ok {", "negated: return !ok",
				"operator swapped: m--", "operator swapped: n--", "statement removed: ", "statement removed: ",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			source := "package p\n\nfunc is(n int) bool { return len(\"\") == n }\n\nfunc f(n, m int, ok bool, s string) bool {\n" + test.body + "\n}\n"
			var got []string
			for _, m := range packageOf(t, source).mutants() {
				if m.Func == "f" && m.compiles() {
					got = append(got, string(m.Kind)+": "+m.After)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// packageOf is a package of one file.
func packageOf(t *testing.T, source string) *Package {
	t.Helper()
	fset := token.NewFileSet()
	syntax, err := parser.ParseFile(fset, "p.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	p := &Package{Path: "p", fset: fset, imports: importer.Default(), info: &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
	}}
	p.files = []*File{{path: "p.go", name: "p.go", source: []byte(source), syntax: syntax, tokens: fset.File(syntax.FileStart)}}
	if err := p.check(nil, p.info); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestMutantIsNamedByItsPlace(t *testing.T) {
	p := packageOf(t, "package p\n\ntype T struct{}\n\nfunc (t *T) rise(n int) bool {\n\treturn n >\n\t\t3\n}\n\nconst most = 8\n")
	var places []string
	for _, m := range p.mutants() {
		places = append(places, m.String())
	}
	got := strings.Join(places, "\n")
	for _, want := range []string{
		"p.go:6 in rise: boundary moved\n    - return n >\n    + return n >=",
		"p.go:7 in rise: constant changed\n    - 3\n    + 4",
		"p.go:10 in most: constant changed\n    - const most = 8\n    + const most = 7",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no mutant is %q, but these are there:\n%s", want, got)
		}
	}
}
