package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestEquivalents(t *testing.T) {
	path := filepath.Join(t.TempDir(), "equivalent.txt")
	read := func(text string) ([]equivalent, error) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return readEquivalents(path)
	}
	mutants := packageOf(t, "package p\n\nfunc few(n int) bool {\n\treturn n > 3\n}\n").mutants()

	list, err := read("# a comment\n\nin few\n- return n > 3\n+ return n >= 3\n= nobody counts\n= to three\n\nin few\n- return n > 4\n+ return n >= 4\n= it was so once\n")
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 || list[0].reason != "nobody counts to three" {
		t.Fatalf("read %+v", list)
	}
	matched := 0
	for _, m := range mutants {
		if list[0].is(m) {
			matched++
		}
	}
	if matched != 1 {
		t.Errorf("the first entry is %d of the mutants, want 1", matched)
	}
	if gone := stale(list, mutants); len(gone) != 1 || gone[0].line != 9 {
		t.Errorf("stale entries are %+v, want the one of line 9", gone)
	}

	for name, text := range map[string]string{
		"no reason":          "in few\n- a\n+ b\n",
		"no mutated line":    "in few\n+ b\n= c\n",
		"no function":        "- a\n+ b\n= c\n",
		"an unknown line":    "in few\n- a\n+ b\n= c\nd\n",
		"a reason elsewhere": "in few\n- a\n+ b\nin many\n- a\n+ b\n= c\n",
	} {
		if _, err := read(text); err == nil {
			t.Errorf("%s: it is read without an error", name)
		}
	}
}

// TestListedEquivalentsAreMutants: an entry that no mutant is any more says nothing, and hides that its reason is gone.
func TestListedEquivalentsAreMutants(t *testing.T) {
	list, err := readEquivalents("equivalent.txt")
	if err != nil {
		t.Fatal(err)
	}
	all, err := options{dir: "../..", patterns: append(slices.Clone(engines), "./internal/traffic/...")}.all()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range stale(list, all) {
		t.Errorf("equivalent.txt:%d: no mutant of %s is this any more: correct the entry, or remove it\n- %s\n+ %s", e.line, e.name, e.before, e.after)
	}
}

// stale are the entries that no mutant is.
func stale(list []equivalent, mutants []*Mutant) []equivalent {
	type change struct{ name, before, after string }
	known := map[change]bool{}
	for _, m := range mutants {
		known[change{m.Func, m.Before, m.After}] = true
	}
	var gone []equivalent
	for _, e := range list {
		if !known[change{e.name, e.before, e.after}] {
			gone = append(gone, e)
		}
	}
	return gone
}
