package celexpr_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-delivery/sluice/internal/celexpr"
)

func TestEval(t *testing.T) {
	entry := map[string]any{"name": "web_shop_svc_80", "port": int64(80), "tags": []any{"a", map[string]any{"b": 1.5}}}
	for name, c := range map[string]struct {
		text  string
		want  any
		wrong string
	}{
		"a text":                          {"entry.name", "web_shop_svc_80", ""},
		"a part of it":                    {"entry.name.split('_')[0]", "web", ""},
		"a number":                        {"entry.port + 1", int64(81), ""},
		"what is not there":               {"entry.?weight", nil, ""},
		"what is not there, or another":   {"entry.?weight.orValue(1)", int64(1), ""},
		"a map of it":                     {"{'x': entry.tags + [null, true]}", map[string]any{"x": []any{"a", map[string]any{"b": 1.5}, nil, true}}, ""},
		"what is not there, all the same": {"entry.weight", nil, "no such key: weight"},
		"no name of a variable":           {"object.name", nil, "undeclared reference to 'object'"},
		"no expression":                   {"entry.", nil, "Syntax error"},
		"nothing":                         {" ", nil, "it is empty"},
		"a duration":                      {"duration('1h')", nil, "which JSON has not"},
		"a map with numbers for keys":     {"{1: 2}", nil, "keys are no texts"},
		"a long one":                      {strings.Repeat("1+", 1200) + "1", nil, "may have 2048"},
		"one that takes very long":        {"[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, [1,2,3,4,5,6,7,8,9].all(d, [1,2,3,4,5,6,7,8,9].all(e, a+b+c+d+e > 0)))))", nil, "cost limit"},
		"one whose result is huge":        {"[1,2,3,4,5,6,7,8,9,0].map(a, [1,2,3,4,5,6,7,8,9,0].map(b, [1,2,3,4,5,6,7,8,9,0].map(c, entry.tags + entry.tags + entry.tags)))", nil, "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := celexpr.Compile(c.text, "entry")
			var got any
			if err == nil {
				var budget celexpr.Budget
				got, err = budget.Eval(e, map[string]any{"entry": entry})
			}
			switch {
			case c.wrong == "" && err != nil:
				t.Error(err)
			case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong) || strings.Contains(err.Error(), "\n")):
				t.Errorf("got %v, %v, want %q", got, err, c.wrong)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// However cheap each evaluation is, they come to an end.
func TestBudget(t *testing.T) {
	e, err := celexpr.Compile("1", "entry")
	if err != nil {
		t.Fatal(err)
	}
	var budget celexpr.Budget
	for n := range 100_000 {
		if _, err := budget.Eval(e, map[string]any{"entry": nil}); errors.Is(err, celexpr.ErrCost) {
			if n < 5_000 {
				t.Errorf("%d evaluations are all", n)
			}
			return
		}
	}
	t.Error("it may cost anything")
}
