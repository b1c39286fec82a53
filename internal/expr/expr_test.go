package expr

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func decode(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func holds(condition string, result any) string {
	got, err := Holds(context.Background(), condition, result, now)
	switch {
	case err != nil:
		return "error: " + err.Error()
	case got:
		return "true"
	}
	return "false"
}

func TestConditions(t *testing.T) {
	for name, c := range map[string]struct {
		condition, result, want string
	}{
		"a number":                       {"result < 0.05", "0.01", "true"},
		"the first of a vector":          {"result[0] >= 0.95", "[0.9]", "false"},
		"every one of a vector":          {"all(result, # < 1)", "[0.1, 0.2]", "true"},
		"length, filters and maps":       {"len(filter(map(result, {# * 2}), {# > 3})) == 1", "[1, 2]", "true"},
		"a field":                        {"result.ok && result.latency < 100", `{"ok": true, "latency": 99}`, "true"},
		"a text as a number":             {"asFloat(result) > 1.4 && asInt('3') == 3", `"1.5"`, "true"},
		"a whole number of a float":      {"asInt(result) == 7", "7.9", "true"},
		"a text that is not a number":    {"asFloat(result) > 1", `"much"`, `error: asFloat: "much" is not a number: give it one, or the text of one (1:1)`},
		"nil":                            {"isNil(result)", "null", "true"},
		"not nil":                        {"isNil(result)", "0", "false"},
		"a field that is not there":      {"isNil(result.missing)", `{"there": 1}`, "true"},
		"a field of nothing":             {"isNil(result.missing.more)", "null", "true"},
		"a default for nil":              {"default(result, 0) == 0", "null", "true"},
		"a default for an empty vector":  {"default(result[0], 0) < 0.05", "[]", "true"},
		"a default that is not needed":   {"default(result[0], 0) < 0.05", "[0.5]", "false"},
		"the last of a vector":           {"default(result[-1], 0) == 2", "[1, 2]", "true"},
		"an index beyond the end":        {"result[0] < 1", "[]", "error: index out of range: 0 (array length is 0) (1:7)"},
		"a field of nil":                 {"result.x == 1", "null", "error: cannot fetch x from <nil> (1:8)"},
		"no truth":                       {"result", "1", "error: it gives 1, which is neither true nor false: compare it with something"},
		"no truth, seen early":           {"1 + 1", "1", "error: it gives 2, which is neither true nor false: compare it with something"},
		"a name that is not known":       {"results > 1", "1", "error: unknown name results (1:1)"},
		"broken":                         {"result >", "1", "error: unexpected token EOF (1:8)"},
		"now is an argument":             {`now() == date("2026-01-02T03:04:05Z")`, "1", "true"},
		"replace, join, repeat and uniq": {`replace(result, "%", "") == "12" && join(["a", "b"], "-") == "a-b" && repeat("ab", 2) == "abab" && len(uniq([1, 1, 2])) == 2`, `"12%"`, "true"},
		"the counter cannot be called":   {`·count(result)`, "1", "error: "},
	} {
		t.Run(name, func(t *testing.T) {
			if got := holds(c.condition, decode(t, c.result)); got != c.want && (c.want != "error: " || !strings.HasPrefix(got, c.want)) {
				t.Errorf("%s for %s: %s, want %s", c.condition, c.result, got, c.want)
			}
		})
	}
}

func TestNumbersThatAreNone(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for condition, c := range map[string]struct {
		result any
		want   string
	}{
		"isNaN(result)":               {nan, "true"},
		"isNaN(result[0])":            {[]float64{nan}, "true"},
		"isInf(result)":               {-inf, "true"},
		"result < 1 || result >= 1":   {nan, "false"},
		"result > 1e300":              {inf, "true"},
		"isNaN(result) || result > 3": {3, "false"},
		"isNaN('x')":                  {1, "error: isNaN: x is not a number: convert it with asFloat (1:1)"},
		"asInt(result) == 0":          {nan, "error: asInt: NaN is not a whole number: use asFloat, or give it one (1:1)"},
	} {
		if got := holds(condition, c.result); got != c.want {
			t.Errorf("%s for %v: %s, want %s", condition, c.result, got, c.want)
		}
	}
}

// TestConditionsAreBounded would not come to an end, or would take all memory, if nothing were counted.
func TestConditionsAreBounded(t *testing.T) {
	large := make([]any, 500_000)
	for i := range large {
		large[i] = float64(i)
	}
	work, tooLarge := "error: "+errWork.Error(), "error: "+errSize.Error()
	for name, c := range map[string]struct {
		condition, want string
	}{
		"loops in loops":              {"all(result, all(result, all(result, true)))", work},
		"a search in every round":     {"none(result, -1 in result)", work},
		"only what differs":           {"len(uniq(result)) > 0", work},
		"a text that doubles":         {`len(reduce(1..100, #acc + #acc, "xx")) > 0`, tooLarge},
		"lists that share":            {"let a = reduce(1..100, [#acc, #acc], 0); a == a", tooLarge},
		"concatenation":               {"let a = concat(result, result); let b = concat(a, a); let c = concat(b, b); len(c) > 0", "error: memory budget exceeded"},
		"a text that is repeated":     {`len(repeat(repeat("x", 100000), 100000)) > 0`, tooLarge},
		"replacing nothing by much":   {`let a = repeat("x", 10000); len(replace(a, "", a)) > 0`, tooLarge},
		"joining with much":           {`len(join(map(1..100000, "x"), repeat("x", 10000))) > 0`, tooLarge},
		"a range":                     {"len(1..100000000) > 0", "error: memory budget exceeded"},
		"a comparison in every round": {"all(result, result == result)", work},
	} {
		t.Run(name, func(t *testing.T) {
			if got := holds(c.condition, large); !strings.HasPrefix(got, c.want) {
				t.Errorf("%s: %s, want %s", c.condition, got, c.want)
			}
		})
	}
	long := "true" + strings.Repeat("&&!1", 2000)
	if err := Check(long); err == nil || !strings.Contains(err.Error(), "exceeds maximum allowed nodes") {
		t.Errorf("%d characters: %v, want an error", len(long), err)
	}
	if got := holds("sum(result) > 0 && all(result, # >= 0)", large); got != "true" {
		t.Errorf("a simple condition on half a million values: %s", got)
	}
}

func TestConditionsAreCheckedEarly(t *testing.T) {
	for condition, want := range map[string]string{
		"result[0] > 1":  "",
		"result.a.b > 1": "",
		"1 + 1":          "expected bool, but got int: compare it with something",
		"asInt(1, 2)":    "too many arguments to call asInt (1:1)",
		"result >":       "unexpected token EOF (1:8)",
	} {
		got := ""
		if err := Check(condition); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", condition, got, want)
		}
	}
}

func TestTimes(t *testing.T) {
	for text, want := range map[string]string{
		`now()`:                        "2026-01-02T03:04:05Z",
		`now() - duration("1h")`:       "2026-01-02T02:04:05Z",
		`date("2026-01-01T00:00:00Z")`: "2026-01-01T00:00:00Z",
		`5`:                            `error: it gives 5, which is no time: write for example now() - duration("1h")`,
		`now() -`:                      "error: unexpected token EOF (1:7)",
	} {
		at, err := Time(t.Context(), text, now)
		got := at.Format(time.RFC3339)
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestNothingToJudge(t *testing.T) {
	for text, want := range map[string]bool{
		"null": true, "[]": true, "{}": true, `""`: true, "[null]": true, "[[]]": true,
		"0": false, "false": false, "[0]": false, `{"a": null}`: false, `"x"`: false,
	} {
		if got := IsEmpty(decode(t, text)); got != want {
			t.Errorf("%s: %t, want %t", text, got, want)
		}
	}
	if !IsEmpty([]float64{math.NaN(), math.NaN()}) || IsEmpty([]float64{math.NaN(), 1}) {
		t.Error("a list is empty when none of its values is a number")
	}
}
