package main

import (
	"strings"
	"testing"
)

func TestProblems(t *testing.T) {
	var s survey
	err := s.add("hall.go", []byte(`package hall

type pass struct{ is int }

func (p *pass) one()   {}
func (p *pass) two()   {}
func (p *pass) three() {}

type routing struct {
	*pass
}

func (r *routing) one() {}

type data struct{ pass }
`))
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(problemsOf(s.types(), 2), "\n")
	for _, want := range []string{"hall.pass has 3 methods, and 2 is the most", "hall.routing embeds hall.pass"} {
		if !strings.Contains(all, want) {
			t.Errorf("nothing about %q in\n%s", want, all)
		}
	}
	if strings.Contains(all, "hall.data") {
		t.Errorf("a type without methods is no context:\n%s", all)
	}
	if s.lines != 15 {
		t.Errorf("%d lines", s.lines)
	}
}
