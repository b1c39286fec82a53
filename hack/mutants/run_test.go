package main

import (
	"bytes"
	"io"
	"log"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// module writes a module with an engine in two packages, and with what uses them.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var small = map[string]string{
	"go.mod": "module example.com/small\n\ngo 1.26\n",
	"engine/engine.go": `package engine

import "example.com/small/engine/inner"

// Next says whether there is more.
func Next(n int) bool {
	if inner.Enough(n) {
		return false
	}
	return n > 3
}
`,
	"engine/engine_test.go": `package engine

import "testing"

func TestNext(t *testing.T) {
	if !Next(5) || Next(1) || Next(20) {
		t.Error("wrong")
	}
}
`,
	"engine/inner/inner.go": `package inner

// Enough says whether it is enough.
func Enough(n int) bool {
	for n > 10 {
		return true
	}
	return false
}
`,
	"engine/inner/idle.go": `package inner

// Idle is what no test executes.
func Idle(n int) bool { return n > 3 }
`,
	"user/user_test.go": `package user

import (
	"testing"

	"example.com/small/engine"
)

func TestMany(t *testing.T) {
	for n := 0; n < 8; n++ {
		if engine.Next(n) != (n >= 4) {
			t.Error(n)
		}
	}
}
`,
	"equivalent.txt": "",
}

// smallStages try the engine's own tests, and then those of what uses it.
var smallStages = []stage{{"tests", []string{"./engine/..."}, nil}, {"uses", []string{"./user"}, nil}}

func TestRun(t *testing.T) {
	dir := module(t, small)
	before := read(t, dir)
	var out, progress bytes.Buffer
	o := options{
		dir: dir, patterns: []string{"./engine/..."}, stages: smallStages, count: 1000, jobs: 2, seed: 1, budget: time.Hour,
		equivalents: "equivalent.txt", out: log.New(&out, "", 0), progress: log.New(&progress, "", 0),
	}
	r, err := o.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"its own test kills it":               "return n <= 3: killed by tests, engine: TestNext\n",
		"what uses it kills it":               "return n >= 3: killed by uses, user: TestMany\n",
		"tests of other packages reach it":    "in Enough: negated\n    - for n > 10 {\n    + for n <= 10 {: killed by tests, engine: TestNext\n",
		"no test knows where the boundary is": "for n >= 10 {: SURVIVED\n",
	} {
		if !strings.Contains(progress.String(), want) {
			t.Errorf("%s: %q is not in\n%s", text, want, progress.String())
		}
	}
	if !strings.Contains(out.String(), "SURVIVED engine/inner/inner.go:5 in Enough: boundary moved\n    - for n > 10 {\n    + for n >= 10 {\n") {
		t.Errorf("the report does not name the survivor:\n%s", out.String())
	}
	if r.killed == 0 || len(r.survivors) == 0 || r.ran() != r.drawn {
		t.Errorf("of %d drawn %d were killed and %d survived", r.drawn, r.killed, len(r.survivors))
	}
	idle := 0
	for _, o := range r.survivors {
		if o.Func == "Idle" {
			idle++
			if len(o.spent) > 0 {
				t.Errorf("tests that do not execute it run with %s", o.Mutant)
			}
		}
	}
	if tests := r.stages["tests"]; idle == 0 || tests.tried != r.ran()-idle || tests.killed == 0 {
		t.Errorf("%d mutants are executed by no test, of %d, and %+v", idle, r.ran(), r.stages)
	}
	if after := read(t, dir); after != before {
		t.Errorf("the tree was changed from\n%s\nto\n%s", before, after)
	}

	t.Run("a listed survivor is none", func(t *testing.T) {
		o, listed := o, "in Enough\n- for n > 10 {\n+ for n >= 10 {\n= nobody has 10\n"
		o.where = "boundary moved\n    - for"
		if err := os.WriteFile(filepath.Join(dir, "equivalent.txt"), []byte(listed), 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := o.run(t.Context())
		if err != nil || r.equivalent != 1 || len(r.survivors) != 0 || r.drawn != 1 {
			t.Errorf("it is not known as equivalent: %+v, %v", r, err)
		}
	})
	t.Run("no time is left", func(t *testing.T) {
		o := o
		o.budget = -1
		if r, err := o.run(t.Context()); err != nil || r.ran() != 0 {
			t.Errorf("%d mutants ran, %v", r.ran(), err)
		}
	})
	t.Run("a seed draws the same sample again", func(t *testing.T) {
		drawn := func(seed uint64) string {
			o, out := o, &bytes.Buffer{}
			o.seed, o.count, o.list, o.out = seed, 5, true, log.New(out, "", 0)
			if _, err := o.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			return out.String()
		}
		rest := func(skip int) string {
			o, out := o, &bytes.Buffer{}
			o.seed, o.count, o.skip, o.list, o.out = 7, 5, skip, true, log.New(out, "", 0)
			if _, err := o.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			return out.String()
		}
		if whole, last := rest(0), rest(3); !strings.HasSuffix(whole, last) || strings.Count(last, " in ") != 2 {
			t.Errorf("without the first three of\n%s\nthere is left\n%s", whole, last)
		}
		if first := drawn(7); first != drawn(7) || first == drawn(8) || strings.Count(first, " in ") != 5 {
			t.Errorf("drawn by seed 7:\n%s", first)
		}
	})
}

func read(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	for _, name := range []string{"engine/engine.go", "engine/inner/inner.go"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

func TestRunRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		o     options
		want  string
	}{
		"tests that fail anyway": {
			map[string]string{"user/user_test.go": "package user\n\nimport \"testing\"\n\nfunc TestMany(t *testing.T) { t.Error(\"as always\") }\n"},
			options{},
			"fail without any mutant",
		},
		"a stage without tests":               {nil, options{stages: []stage{{"none", []string{"./engine/inner"}, nil}}}, "has no tests"},
		"nothing is left":                     {nil, options{skip: 1}, "-skip 1: 1 mutants are drawn"},
		"an expression that is none":          {nil, options{where: "("}, "missing closing"},
		"a package that is not there":         {nil, options{patterns: []string{"./elsewhere"}}, "elsewhere"},
		"a list that cannot be read":          {nil, options{equivalents: "none.txt"}, "none.txt"},
		"a list that is not written that way": {map[string]string{"equivalent.txt": "hello\n"}, options{}, "equivalent.txt:1"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := module(t, small)
			for name, text := range test.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			o := test.o
			o.dir, o.count, o.budget, o.out, o.progress = dir, 1, time.Hour, log.New(io.Discard, "", 0), log.New(io.Discard, "", 0)
			if o.patterns == nil {
				o.patterns = []string{"./engine"}
			}
			if o.stages == nil {
				o.stages = smallStages
			}
			if o.equivalents == "" {
				o.equivalents = "equivalent.txt"
			}
			if _, err := o.run(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want one with %q", err, test.want)
			}
		})
	}
}

// TestEndlessMutantsAreKilled: neither a loop without an end nor memory without one keeps the program.
func TestEndlessMutantsAreKilled(t *testing.T) {
	if os.Getenv("MUTANT") == "loops" {
		for n := uint64(1); n != 0; n |= 1 {
		}
	}
	t.Setenv("MUTANT", "loops")
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := program{tested: tested{dir: "."}, args: []string{"-test.run=^TestEndlessMutantsAreKilled$"}}
	if r := p.run(t.Context(), binary, 0, time.Second); !r.failed {
		t.Errorf("it is not killed: %+v", r)
	}
}

// TestRoutersAreTestedInMemory: the packages that test routers have no mutants, and no test that starts a cluster runs against any.
func TestRoutersAreTestedInMemory(t *testing.T) {
	for pattern, want := range map[string]bool{
		"./internal/traffic": true, "./internal/traffic/...": true, "./internal/traffic/istio": true, "./internal/plan": false, "./internal/trafficlight": false,
	} {
		if got := areRouters([]string{pattern}); got != want {
			t.Errorf("areRouters(%s) is %v, want %v", pattern, got, want)
		}
	}
	packages, err := withoutSuites("../..", []string{"./internal/traffic/..."})
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, p := range packages {
		named[path.Base(p)] = true
	}
	for name, want := range map[string]bool{"traffic": true, "istio": true, "routers": true, "conformance": false, "subjects": false, "e2e": false, "later": false} {
		if named[name] != want {
			t.Errorf("%s has mutants: %v, want %v", name, named[name], want)
		}
	}
	programs, err := programsOf("../..", own(packages))
	if err != nil {
		t.Fatal(err)
	}
	run := map[string]bool{}
	for _, p := range programs {
		run[path.Base(p.path)] = true
	}
	for name, want := range map[string]bool{"istio": true, "subjects": true, "e2e": false, "later": false} {
		if run[name] != want {
			t.Errorf("the tests of %s run: %v, want %v", name, run[name], want)
		}
	}
	if _, err := withoutSuites("../..", []string{"./internal/traffic/e2e/..."}); err == nil {
		t.Error("a pattern that names only tests is accepted")
	}
}
