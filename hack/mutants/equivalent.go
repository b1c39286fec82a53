package main

import (
	"fmt"
	"os"
	"strings"
)

// equivalent is a mutant that no test can notice. It is known by its function and by what changes, not by its place: code moves.
type equivalent struct {
	name, before, after, reason string
	line                        int
}

// readEquivalents reads the list. Each entry has four kinds of lines, the last as often as needed:
//
//	in resize
//	- if n > 0 {
//	+ if n >= 0 {
//	= growing by 0 pods writes nothing
func readEquivalents(path string) ([]equivalent, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []equivalent
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		mark, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case mark == "" || strings.HasPrefix(mark, "#"):
			continue
		case mark == "in":
			all = append(all, equivalent{name: rest, line: number})
			continue
		case len(all) == 0:
			return nil, fmt.Errorf("%s:%d: an entry begins with a line \"in FUNCTION\"", path, number)
		}
		last := &all[len(all)-1]
		switch mark {
		case "-":
			last.before = rest
		case "+":
			last.after = rest
		case "=":
			last.reason = strings.TrimSpace(last.reason + " " + rest)
		default:
			return nil, fmt.Errorf("%s:%d: %q begins with none of: in, -, +, =, #", path, number, strings.TrimSpace(line))
		}
	}
	for _, e := range all {
		if e.before == "" || e.reason == "" {
			return nil, fmt.Errorf("%s:%d: the entry needs a line that begins with - and a reason that begins with =", path, e.line)
		}
	}
	return all, nil
}

func (e equivalent) is(m *Mutant) bool {
	return e.name == m.Func && e.before == m.Before && e.after == m.After
}
