package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// program is a stage's tests of one package.
type program struct {
	tested
	stage string
	args  []string
	// took is the CPU time that the tests take without a mutant.
	took time.Duration
	// covers is what they execute.
	covers coverage
}

// programsOf are the programs of all stages, in their order.
func programsOf(dir string, stages []stage) ([]program, error) {
	var all []program
	for _, s := range stages {
		packages, err := tests(dir, s.patterns)
		if err != nil {
			return nil, err
		}
		if len(packages) == 0 {
			return nil, fmt.Errorf("the stage %q has no tests: no package of %s has any", s.name, strings.Join(s.patterns, " "))
		}
		for _, t := range packages {
			all = append(all, program{tested: t, stage: s.name, args: s.args})
		}
	}
	return all, nil
}

// runner runs tests in a folder of its own.
type runner struct {
	dir, scratch string
	programs     []program
	// together are the programs with all numbered mutants in them, by the path of their package.
	together map[string]string
	// covering are the packages whose programs note what they execute.
	covering []string
}

// outcome is what became of a mutant.
type outcome struct {
	*Mutant
	// killed: a test noticed. by is which one, and how if it did not simply fail.
	killed bool
	by     string
	// broken is what the compiler said where it took what go/types had taken for a program for none.
	broken string
	// stage is the one that killed it, spent the CPU time in each.
	stage string
	spent map[string]time.Duration
}

// baseline runs everything without a mutant, since tests that fail anyway kill everything, and measures how long it takes, and what of the packages
// it executes.
func (r *runner) baseline(ctx context.Context, packages []string) error {
	for i := range r.programs {
		p := &r.programs[i]
		if err := p.cover(ctx, r, packages); err != nil {
			return cmp.Or(ctx.Err(), err)
		}
		result := p.run(ctx, r.together[p.path], 0, time.Hour)
		if result.failed {
			return cmp.Or(ctx.Err(), fmt.Errorf("the tests of %s fail without any mutant:\n%s", p.path, result.output))
		}
		p.took = result.took
	}
	return ctx.Err()
}

// try runs the tests that reach the mutant, those of its own package first, until one fails.
func (r *runner) try(ctx context.Context, m *Mutant) (outcome, error) {
	overlay, built := "", r.together
	if m.number == 0 {
		var err error
		if overlay, err = r.overlay(m); err != nil {
			return outcome{}, err
		}
		built = map[string]string{}
	}
	spent := map[string]time.Duration{}
	for _, p := range r.reaching(m) {
		binary, err := r.build(ctx, &p, overlay, built)
		var refused *refusal
		switch {
		case ctx.Err() != nil:
			return outcome{}, ctx.Err()
		case errors.As(err, &refused):
			return outcome{Mutant: m, broken: refused.text}, nil
		case err != nil:
			return outcome{}, err
		}
		result := p.run(ctx, binary, m.number, 5*p.took+20*time.Second)
		if ctx.Err() != nil {
			return outcome{}, ctx.Err()
		}
		spent[p.stage] += result.took
		if result.failed {
			return outcome{Mutant: m, killed: true, by: p.stage + ", " + path.Base(p.path) + ": " + result.how, stage: p.stage, spent: spent}, nil
		}
	}
	return outcome{Mutant: m, spent: spent}, nil
}

// reaching are the programs that execute a mutant: in the order of the stages, and in each the package's own first.
func (r *runner) reaching(m *Mutant) []program {
	var all []program
	path := m.Package.Path
	for _, p := range r.programs {
		if (p.reaches[path] || p.path == path) && p.covers.executes(m) {
			all = append(all, p)
		}
	}
	stage := func(p program) int {
		return slices.IndexFunc(r.programs, func(other program) bool { return other.stage == p.stage })
	}
	foreign := func(p program) int {
		if p.path == path {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b program) int { return 2*(stage(a)-stage(b)) + foreign(a) - foreign(b) })
	return all
}

// overlay writes the mutant, and what tells the compiler to read it in place of the file.
func (r *runner) overlay(m *Mutant) (string, error) {
	mutated, overlay := filepath.Join(r.scratch, "mutant.go"), filepath.Join(r.scratch, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{m.File.path: mutated}})
	if err != nil {
		return "", err
	}
	return overlay, errors.Join(os.WriteFile(mutated, m.Source(), 0o644), os.WriteFile(overlay, text, 0o644))
}

// refusal is what the compiler says.
type refusal struct{ text string }

func (r *refusal) Error() string { return r.text }

// build compiles the tests of a package, unless they are built.
func (r *runner) build(ctx context.Context, p *program, overlay string, built map[string]string) (string, error) {
	if binary := built[p.path]; binary != "" {
		return binary, nil
	}
	binary := filepath.Join(r.scratch, strings.ReplaceAll(p.path, "/", "_")+".test")
	var args []string
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	if err := r.compile(ctx, p.path, binary, args...); err != nil {
		return "", err
	}
	built[p.path] = binary
	return binary, nil
}

func (r *runner) compile(ctx context.Context, path, binary string, args ...string) error {
	args = append([]string{"test", "-c", "-ldflags=-s -w", "-o", binary}, args...)
	cmd := exec.CommandContext(ctx, "go", append(args, path)...)
	cmd.Dir = r.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return &refusal{fmt.Sprintf("go test -c %s: %v\n%s", path, err, out)}
	}
	return nil
}

// result is what came of running the tests.
type result struct {
	failed bool
	// how is the first test that failed, or what ended them.
	how, output string
	took        time.Duration
}

// memory is how much of it the tests of a mutant may take, in KiB: one that never stops appending takes all there is.
const memory = 6 << 20

var failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// run runs the tests with one of the mutants in them within bounds. CPU time bounds a mutant that does not end: how busy the machine is changes nothing about it.
func (p *program) run(ctx context.Context, binary string, number int, limit time.Duration, more ...string) result {
	const bounded = `ulimit -v "$1" 2>/dev/null; ulimit -t "$2" 2>/dev/null; shift 2; exec "$@"`
	args := []string{"-c", bounded, "sh", strconv.Itoa(memory), strconv.Itoa(int(limit.Seconds()) + 1), binary, "-test.failfast", "-test.timeout=1h"}
	cmd := exec.CommandContext(ctx, "sh", slices.Concat(args, p.args, more)...)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), chooses+"="+strconv.Itoa(number), "GOGC=400") // which saves a quarter of the CPU time
	cmd.WaitDelay = 5 * time.Second
	out := &head{}
	cmd.Stdout, cmd.Stderr = out, out
	err := cmd.Run()
	r := result{failed: err != nil, output: out.String()}
	if cmd.ProcessState != nil {
		r.took = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	switch found := failure.FindStringSubmatch(r.output); {
	case err == nil:
	case found != nil:
		r.how = found[1]
	case strings.Contains(r.output, "out of memory"):
		r.how = "out of memory"
	case strings.Contains(r.output, "panic: "):
		r.how = "panic"
	case r.took > limit:
		r.how = "did not end"
	default:
		r.how = err.Error()
	}
	return r
}

// head keeps the beginning of what is written.
type head struct{ bytes.Buffer }

func (h *head) Write(text []byte) (int, error) {
	if room := 1<<20 - h.Len(); room > 0 {
		h.Buffer.Write(text[:min(room, len(text))])
	}
	return len(text), nil
}
