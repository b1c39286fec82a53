package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-delivery/sluice/internal/sim/explore"
)

// Story tells a counterexample step by step, with what there is after each one.
func (c *Counterexample) Story(w *World, engine explore.Engine) string {
	var b strings.Builder
	fmt.Fprintf(&b, "world %s: %s: %s\n", w.Name, c.Rule, c.Text)
	s := w.begin(engine)
	tell := func(n int, what step) {
		if !slices.Contains(s.steps(), what) {
			fmt.Fprintf(&b, "%3d. %s cannot happen here\n", n, what)
			return
		}
		name := s.name(what)
		s.try(what)
		fmt.Fprintf(&b, "%3d. %s\n       %s\n", n, name, s.referee.Summary())
	}
	for i, what := range c.steps {
		tell(i+1, what)
	}
	if len(c.again) > 0 {
		fmt.Fprintln(&b, "and from here again and again:")
		for i, what := range c.again {
			tell(len(c.steps)+i+1, what)
		}
	}
	fmt.Fprintf(&b, "replay: make check WORLD=%s WAY=%s\n", w.Name, c.Way())
	return b.String()
}

// Way is the counterexample in few characters: one word for each step.
func (c *Counterexample) Way() string {
	words := make([]string, len(c.steps))
	for i, s := range c.steps {
		words[i] = s.String()
	}
	return strings.Join(words, ",")
}

// letters are those of the kinds of steps.
const letters = "psrejtm"

func (s step) String() string {
	text := string(letters[s.kind])
	switch s.kind {
	case pass:
		b := s.behind
		if b != (behind{}) {
			text += fmt.Sprintf("v%d%d%d%d%d", b.rollout, b.replicaSets, b.services, b.routes, b.runs)
		}
		if s.crash > 0 {
			text += fmt.Sprintf("c%d", s.crash)
		}
	case resync, start, act:
		text += strconv.Itoa(int(s.which))
	case judge:
		text += fmt.Sprintf("%d.%d", s.which, s.verdict)
	case tick:
		if s.late {
			text += "l"
		}
	case tell:
	}
	return text
}

// ParseWay reads what [Counterexample.Way] writes.
func ParseWay(text string) (*Counterexample, error) {
	c := &Counterexample{Rule: "replay", Text: text}
	for word := range strings.SplitSeq(text, ",") {
		s, err := parseStep(word)
		if err != nil {
			return nil, fmt.Errorf("step %q: %w", word, err)
		}
		c.steps = append(c.steps, s)
	}
	return c, nil
}

func parseStep(word string) (s step, err error) {
	if word == "" || !strings.Contains(letters, word[:1]) {
		return s, fmt.Errorf("it begins with none of %s", letters)
	}
	s.kind = kind(strings.Index(letters, word[:1]))
	rest := word[1:]
	number := func(text string) uint8 {
		n, e := strconv.ParseUint(text, 10, 8)
		if e != nil {
			err = e
		}
		return uint8(n)
	}
	switch s.kind {
	case pass:
		views, crash, crashes := strings.Cut(rest, "c")
		if crashes {
			s.crash = number(crash)
		}
		if digits, ok := strings.CutPrefix(views, "v"); ok && len(digits) == 5 {
			s.behind = behind{number(digits[:1]), number(digits[1:2]), number(digits[2:3]), number(digits[3:4]), number(digits[4:])}
		} else if views != "" {
			err = fmt.Errorf("a view is v and five digits")
		}
	case resync, start, act:
		s.which = number(rest)
	case judge:
		which, verdict, _ := strings.Cut(rest, ".")
		s.which, s.verdict = number(which), number(verdict)
	case tick:
		s.late = rest == "l"
	case tell:
	}
	return s, err
}
