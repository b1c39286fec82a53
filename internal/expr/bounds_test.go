package expr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/expr-lang/expr/builtin"
)

// measured are what conditions of the tests below work on: as much as providers let through.
var measured = sync.OnceValue(func() map[string]any {
	numbers := make([]any, 500_000)
	for i := range numbers {
		numbers[i] = float64(i)
	}
	floats := make([]float64, 700_000)
	texts := make([]any, 1000)
	for i := range texts {
		texts[i] = fmt.Sprintf("%s%d", strings.Repeat("x", 1000), i)
	}
	fields := map[string]any{}
	for i := range 100_000 {
		fields[fmt.Sprint(i)] = 1.0
	}
	var deep any = slices.Clone(numbers)
	for range 9_000 {
		deep = []any{deep}
	}
	return map[string]any{
		"numbers": numbers, "floats": floats, "texts": texts, "fields": fields, "deep": deep, "text": strings.Repeat("x", 1<<20),
		"json": "[" + strings.TrimSuffix(strings.Repeat("[],", 1<<18), ",") + "]",
	}
})

// worst are conditions that cost as much as the budget lets through, by what they work on and which function or operator they use.
var worst = map[string]struct{ of, condition string }{
	"rounds":               {"numbers", "all(1..900000, true)"},
	"a long round":         {"numbers", "all(1..900000, -" + strings.Repeat("-", 500) + "# < 1)"},
	"a long round of not":  {"numbers", "all(1..900000, " + strings.Repeat("!", 1000) + "true)"},
	"loops in loops":       {"numbers", "all(1..3000, all(1..3000, true))"},
	"reduce":               {"numbers", "reduce(1..900000, #acc + # * 2 - 1, 0) > 0"},
	"a growing text":       {"numbers", `len(reduce(1..100000, #acc + "xxxxxxxxxxxxxxxx", "")) > 0`},
	"a growing list":       {"numbers", `len(reduce(1..100000, [#acc, #], 0)) > 0`},
	"sort":                 {"numbers", "sort(result)[0] > 0 || " + strings.Repeat("sort(result)[0] > 0 || ", 20) + "true"},
	"sort texts":           {"texts", strings.Repeat(`sort(result)[0] == "" || `, 100) + "true"},
	"sortBy":               {"numbers", "len(sortBy(1..900000, -#)) > 0"},
	"sortBy by a text":     {"text", "len(sortBy(1..100, result)) > 0"},
	"groupBy":              {"numbers", "len(groupBy(1..300000, #)) > 0"},
	"groupBy by a text":    {"texts", "len(groupBy(1..900000, result[# % 1000])) > 0"},
	"median":               {"floats", strings.Repeat("median(result) > 1 || ", 20) + "true"},
	"median of what nests": {"deep", "median(result) > 0"},
	"mean of what nests":   {"deep", strings.Repeat("mean(result) < 0 || ", 30) + "true"},
	"flatten":              {"deep", "len(flatten(result)) > 0"},
	"toJSON of what nests": {"deep", "len(toJSON(result)) > 0"},
	"toJSON":               {"numbers", `let a = toJSON(result); let b = toJSON(result); len(a + b) > 0`},
	"fromJSON":             {"json", `let a = fromJSON(result); let b = fromJSON(result); len(a) + len(b) > 0`},
	"fromJSON that nests":  {"text", `let a = fromJSON(repeat("[", 9000) + repeat("]", 9000)); let b = toJSON(a); len(b) > 0`},
	"split":                {"text", `let a = split(result, ""); let b = split(result, ""); len(a) + len(b) > 0`},
	"split and join":       {"text", `len(join(split(result, ""), "-")) > 0`},
	"trim":                 {"text", `trim(result, "` + strings.Repeat("é", 4000) + `x") == ""`},
	"trim often":           {"texts", `all(1..900000, trim(result[0], "yx") != "")`},
	"replace":              {"text", `len(replace(result, "x", "yy")) > 0`},
	"repeat":               {"text", `len(repeat("x", 1000000)) > 0 && len(repeat("x", 1000000)) > 0`},
	"upper":                {"text", strings.Repeat(`upper(result) == "" || `, 200) + "true"},
	"string":               {"numbers", "let a = string(result); let b = string(result); let c = string(result); len(a + b + c) > 0"},
	"keys":                 {"fields", "[" + strings.Repeat("keys(result), ", 60) + "1][0] == 1"},
	"toPairs":              {"fields", "[" + strings.Repeat("toPairs(result), ", 60) + "1][0] == 1"},
	"fromPairs":            {"fields", "let p = toPairs(result); [" + strings.Repeat("fromPairs(p), ", 60) + "1][0] == 1"},
	"comparison":           {"texts", "all(result, result == result)"},
	"order of texts":       {"text", "let a = upper(result); let b = upper(result); " + strings.Repeat("a < b || ", 300) + "true"},
	"in":                   {"numbers", "all(1..900000, # in result)"},
	"in texts":             {"texts", `all(result, # in result)`},
	"contains":             {"text", `all(1..900000, result contains "xy")`},
	"uniq":                 {"numbers", "len(uniq(1..3000)) > 0"},
	"uniq texts":           {"texts", "len(uniq(result)) > 0"},
	"concat":               {"numbers", "len(concat(result, result[0:400000])) > 0"},
	"slices":               {"numbers", "all(1..900000, len(result[1:]) > 0)"},
	"matches":              {"text", `result matches "(a|x)*(b|x)*(c|x)*(d|x)*y"`},
	"matches a lot":        {"text", `result[0:9000] matches "^(x?){200}y"`},
	"matches in a loop":    {"texts", `all(result, # matches "(x?){3}$")`},
	"matches classes":      {"text", `result[0:9000] matches "(?i)` + strings.Repeat(`\\pL`, 240) + `9"`},
	"dates":                {"text", `all(1..900000, date("2026-01-02").Year() > 0)`},
	"formats":              {"text", `all(1..900000, len(now().Format("` + strings.Repeat("Monday", 100) + `")) > 0)`},
	"durations":            {"text", `all(1..900000, duration("1h2m3s4ms5us6ns") > duration("1ns"))`},
	"time zones":           {"text", `all(1..900000, timezone("Europe/Berlin") != nil)`},
	"dates in a zone":      {"text", `all(1..900000, date("2026-01-02", "2006-01-02", "Europe/Berlin").Year() > 0)`},
	"what cannot be shown": {"numbers", "true ? [" + strings.Repeat("result, ", 1500) + "1] : result"},
}

// TestTheWorstIsBounded holds all of them to the budget. What a unit of it costs is what BenchmarkWorst tells.
func TestTheWorstIsBounded(t *testing.T) {
	for name, c := range worst {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Holds(t.Context(), c.condition, measured()[c.of], now)
			runtime.ReadMemStats(&after)
			if made := after.TotalAlloc - before.TotalAlloc; made > 1<<30 {
				t.Errorf("it allocated %d MiB in all (%v)", made>>20, err)
			}
			if err != nil && len(err.Error()) > 2000 {
				t.Errorf("the error has %d bytes: %.300s", len(err.Error()), err)
			}
		})
	}
}

func BenchmarkWorst(b *testing.B) {
	for name, c := range worst {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var spent int
			for b.Loop() {
				p, _, err := programs.take(c.condition)
				if err != nil {
					b.Fatal(err)
				}
				*p.run = run{ctx: b.Context(), now: now, left: maxWork}
				out, err := runProgram(p, measured()[c.of])
				spent = maxWork - p.run.left
				programs.put(c.condition, p)
				_, _ = out, err
			}
			b.ReportMetric(float64(spent), "units")
		})
	}
}

func TestPatternsOfConditionsAreBounded(t *testing.T) {
	for condition, want := range map[string]string{
		`result matches "^[0-9]+$"`:                              "",
		`result matches "(x?){1000}"`:                            "`matches`: the pattern \"(x?){1000}\" compiles to more than 1000 instructions: write one that repeats less",
		`result matches result`:                                  "the pattern result of `matches` is computed: write it down as a text in quotes",
		`result matches "a" + "b"`:                               "the pattern \"a\" + \"b\" of `matches` is computed: write it down as a text in quotes",
		`all(result, # matches string(#))`:                       "the pattern string(#) of `matches` is computed: write it down as a text in quotes",
		`result matches "x{600}" || result matches "x{600}"`:     "its patterns compile to more than 1000 instructions together: write fewer, or shorter ones",
		`result matches "("`:                                     "`matches`: error parsing regexp: missing closing ): `(`",
		"result == 1 || " + strings.Repeat("(", 20_000) + "true": "it has 20019 bytes and may have 16384: write a shorter one",
	} {
		got := ""
		if err := Check(condition); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%.80s: %q, want %q", condition, got, want)
		}
	}
}

// TestTheReviewsPattern is the condition of 8 kB that cost a gigabyte and hours.
func TestTheReviewsPattern(t *testing.T) {
	condition := `repeat("x", 900000) matches "` + strings.Repeat("(x?){1000}", 800) + `y"`
	if err := Check(condition); err == nil || !strings.Contains(err.Error(), "bytes and may have 1000") {
		t.Errorf("%v, want it refused before it is compiled", err)
	}
	if got := holds(`repeat("x", 600000) matches "(x?){200}y"`, nil); !strings.HasPrefix(got, "error: "+errWork.Error()) {
		t.Errorf("a pattern that is within its bounds, and a long text: %s", got)
	}
}

func TestDeepParenthesesAreNoStackOverflow(t *testing.T) {
	if err := Check(strings.Repeat("(", 5_000) + "true" + strings.Repeat(")", 5_000)); err != nil && len(err.Error()) > 1000 {
		t.Errorf("%.200s", err)
	}
}

// TestAnEvaluationEndsWithItsContext: nobody waits for it any more.
func TestAnEvaluationEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the run ended"))
	_, err := Holds(ctx, "all(1..900000, true)", nil, now)
	if err == nil || !strings.HasPrefix(err.Error(), "the run ended") {
		t.Errorf("%v, want the cause", err)
	}
}

// TestProgramsAreCompiledOnce, and those that were not used for longest go first.
func TestProgramsAreCompiledOnce(t *testing.T) {
	c := newCache()
	first, _, err := c.take("result > 1")
	if err != nil {
		t.Fatal(err)
	}
	second, _, err := c.take("result > 1")
	if err != nil || second == first {
		t.Fatalf("one program for two at once (%v)", err)
	}
	c.put("result > 1", first)
	if again, _, _ := c.take("result > 1"); again != first {
		t.Error("it was compiled again")
	}
	for i := range 3 * maxCached / leastCached {
		_ = c.check(fmt.Sprintf("result > %d", i))
		_ = c.check("result > 0")
	}
	if _, kept := c.byText["result > 0"]; !kept || c.bytes > maxCached || len(c.byText) != c.recent.Len() {
		t.Errorf("%d bytes of %d expressions, and what is used all the time is kept: %t", c.bytes, len(c.byText), kept)
	}
	if _, kept := c.byText["result > 1"]; kept {
		t.Error("what was used first is kept")
	}
}

func TestProgramsAreSharedSafely(t *testing.T) {
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 200 {
				got, err := Holds(t.Context(), "sum(map(result, # * 2)) == 6 && len(result) == 2", []any{1.0, 2.0}, now)
				if err != nil || !got {
					t.Errorf("%d.%d: %t, %v", i, j, got, err)
				}
				_ = Check("result[0] matches '^a+$'")
			}
		})
	}
	wg.Wait()
}

// TestEveryFunctionOfTheLanguageIsKnown makes sure that the cost of a new function is considered.
func TestEveryFunctionOfTheLanguageIsKnown(t *testing.T) {
	linear := []string{
		"all", "none", "any", "one", "filter", "map", "find", "findIndex", "findLast", "findLastIndex", "count", "sum", "reduce", // rounds are counted
		"len", "type", "abs", "ceil", "floor", "round", "int", "float", "trimPrefix", "trimSuffix", "upper", "lower", "indexOf", "lastIndexOf",
		"hasPrefix", "hasSuffix", "max", "min", "mean", "toBase64", "fromBase64", "now", "duration", "first", "last", "get", "take",
		"bitand", "bitor", "bitxor", "bitnand", "bitshl", "bitshr", "bitushr", "bitnot",
	}
	more := []string{"replace", "repeat", "join", "uniq", "trim", "timezone"}
	for _, name := range builtin.Names {
		if !slices.Contains(linear, name) && !slices.Contains(more, name) && weights[name] == 0 {
			t.Errorf("%s: what does it cost? Give it a weight", name)
		}
	}
}

// FuzzHolds holds what conditions work through, and make, to the budget.
func FuzzHolds(f *testing.F) {
	for _, seed := range []string{"result[0] > 1", "all(result, # < default(result[9], 1))", "let a = result; a == a", "isNil(result.a.b)", `string(result) matches "a+"`} {
		f.Add(seed, `[1, 2, {"a": "x"}]`)
	}
	for _, c := range worst {
		f.Add(c.condition, `"`+strings.Repeat("x", 1000)+`"`)
		f.Add(c.condition, "["+strings.Repeat("1,", 1000)+"1]")
	}
	f.Fuzz(func(t *testing.T, condition, text string) {
		var result any
		if json.Unmarshal([]byte(text), &result) != nil {
			return
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Holds(t.Context(), condition, result, now)
		runtime.ReadMemStats(&after)
		if made := after.TotalAlloc - before.TotalAlloc; made > 1<<30 {
			t.Errorf("%s allocated %d MiB", condition, made>>20)
		}
		if p, _, compileErr := programs.take(condition); compileErr == nil {
			if p.run.left < 0 || p.run.looks > maxWork {
				t.Errorf("%s: %d units are left, after %d charges (%v)", condition, p.run.left, p.run.looks, err)
			}
			programs.put(condition, p)
		}
	})
}
