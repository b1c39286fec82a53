package main

import (
	"bytes"
	"log"
	"slices"
	"strings"
	"testing"
	"time"
)

// awkward has a function of each form that a copy must keep.
var awkward = map[string]string{
	"go.mod": "module example.com/awkward\n\ngo 1.26\n",
	"forms/forms.go": `package forms

import "strings"

type list[T any] struct{ items []T }

func (l *list[T]) Add(more ...T) (n int) {
	l.items = append(l.items, more...)
	n = len(l.items) + 1
	return
}

func (*list[T]) Nameless() bool { return 2 > 1 }

type plain struct{ on bool }

func (plain) Two() int { return 1 + 1 }

func (p plain) Turn(_ string, strings strings.Builder) (on bool, err error) {
	if on, err := p.on, err; on {
		return !on, err
	}
	on, err = strings.Len() > 0, nil
	return
}

func Most[K comparable, V int | string](all map[K]V, _ int) V {
	var most V
	for _, v := range all {
		if v > most {
			most = v
		}
	}
	return most
}

func ignoresMutant1() {}

func ignores(n int) bool {
	ignoresMutant1()
	return n > 0
}

var table = func() int { return 3 }()

var seen []int

func init() { seen = append(seen, 7) }

func see(n int) {
	if n < 0 {
		return
	}
	seen = append(seen, n)
}
`,
	"forms/forms_test.go": `package forms

import (
	"slices"
	"strings"
	"testing"
)

func TestForms(t *testing.T) {
	l := &list[string]{}
	if l.Add("a", "b") != 3 || !l.Nameless() || (plain{}).Two() != 2 {
		t.Error("list")
	}
	if on, err := (plain{}).Turn("", strings.Builder{}); on || err != nil {
		t.Error("turn")
	}
	if Most(map[string]int{"a": 1, "b": 5}, 0) != 5 || !ignores(1) || table != 3 {
		t.Error("most")
	}
	see(-1)
	see(0)
	if !slices.Equal(seen, []int{7, 0}) {
		t.Error(seen)
	}
}
`,
	"equivalent.txt": "",
}

// TestTogether: in a program with all of them each mutant lives or dies as it does alone.
func TestTogether(t *testing.T) {
	dir := module(t, awkward)
	outcomes := func(alone bool) []string {
		var progress bytes.Buffer
		o := options{
			dir: dir, patterns: []string{"./forms"}, stages: []stage{{"tests", []string{"./forms"}, nil}}, count: 1000, jobs: 2, seed: 1, budget: time.Hour,
			equivalents: "equivalent.txt", alone: alone, out: log.New(&bytes.Buffer{}, "", 0), progress: log.New(&progress, "", 0),
		}
		r, err := o.run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if r.killed < 8 || len(r.survivors) == 0 {
			t.Errorf("%d were killed, %d survived", r.killed, len(r.survivors))
		}
		var all []string
		for _, line := range strings.SplitAfter(strings.ReplaceAll(progress.String(), "\n    ", " "), "\n") {
			if strings.Contains(line, "forms.go:") {
				_, line, _ = strings.Cut(line, "forms/forms.go:") // before it is how many there have been
				all = append(all, line)
			}
		}
		slices.Sort(all)
		return all
	}
	if together, alone := outcomes(false), outcomes(true); !slices.Equal(together, alone) {
		t.Errorf("together:\n%s\nalone:\n%s", strings.Join(together, ""), strings.Join(alone, ""))
	}
}

// TestNumbered: what is no part of a function's body is built by itself, and so is what the compiler refuses among others.
func TestNumbered(t *testing.T) {
	dir := module(t, awkward)
	o := options{dir: dir, patterns: []string{"./forms"}, count: 1000}
	all, err := o.all()
	if err != nil {
		t.Fatal(err)
	}
	all, err = o.draw(all)
	if err != nil {
		t.Fatal(err)
	}
	// the first in number: its copy has a name that is taken
	slices.SortStableFunc(all, func(a, b *Mutant) int { return strings.Compare(b.Func, a.Func) })
	slices.SortStableFunc(all, func(a, b *Mutant) int {
		return map[bool]int{true: 1}[b.Func == "ignores"] - map[bool]int{true: 1}[a.Func == "ignores"]
	})
	programs, err := programsOf(dir, []stage{{"tests", []string{"./forms"}, nil}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&runner{dir: dir, scratch: t.TempDir(), programs: programs}).buildTogether(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	by := map[string]bool{}
	for _, m := range all {
		by[m.Func] = by[m.Func] || m.number > 0
	}
	for name, want := range map[string]bool{
		"Add": true, "Nameless": false, "Two": true, "Turn": true, "Most": true, "ignores": false, "table": false, "see": true,
	} {
		if got, drawn := by[name]; got != want || !drawn {
			t.Errorf("%s: a mutant is built with the others: %v, want %v (drawn: %v)", name, got, want, drawn)
		}
	}
}
