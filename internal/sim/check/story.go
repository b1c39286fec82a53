package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-delivery/sluice/internal/sim/script"

	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/sim/explore"
)

// Story tells a counterexample: what is broken, the steps to it as a transcript in the language of internal/plan/testdata, and how to see it again.
func (c *Counterexample) Story(w *World, engine explore.Engine) string {
	var b strings.Builder
	fmt.Fprintf(&b, "world %s: %s: %s\n\n", w.Name, c.Rule, c.Text)
	t := c.Transcript(w, engine)
	fmt.Fprintf(&b, "%s----\n%s\n", strings.Join(t.Lines, "\n")+"\n", t.Told)
	if t.Err != nil {
		fmt.Fprintf(&b, "the transcript ends here: %v\n", t.Err)
	}
	if n := len(c.again); n > 0 {
		fmt.Fprintf(&b, "the last %d steps repeat for as long as nobody does anything\n", n)
	}
	fmt.Fprintf(&b, "replay: make check WORLD=%s WAY=%s\n", w.Name, c.Way())
	return b.String()
}

// Transcript is a counterexample in the language of transcripts.
type Transcript struct {
	// Lines are what happens, Told is what comes of it.
	Lines []string
	Told  string
	// End is how the Rollout is doing then.
	End string
	// Err is why there are no more lines.
	Err error
}

// Transcript plays a counterexample as a script: from the first line to the last, with the steps in their order by hand.
func (c *Counterexample) Transcript(w *World, engine explore.Engine) (t Transcript) {
	script := script.New()
	script.Decide(engine)
	say := func(line string) bool {
		t.Lines = append(t.Lines, line)
		defer func() {
			if r := recover(); r != nil {
				t.Err = fmt.Errorf("panic: %v", r)
			}
		}()
		told, err := script.Run(line)
		t.Told, t.Err = t.Told+told, err
		return err == nil
	}
	lines := slices.Clone(w.Lines)
	lines[0] += " start=0s"
	if !w.Fresh {
		lines = append(lines, "settle")
	}
	for _, line := range append(lines, "by hand") {
		if !say(line) {
			return t
		}
	}
	at := w.begin(engine)
	for _, what := range slices.Concat(c.steps, c.again) {
		if !at.can(what) {
			t.Err = fmt.Errorf("%s cannot happen here", what)
			return t
		}
		for _, line := range at.lines(what) {
			if !say(line) {
				return t
			}
		}
		at.try(what)
	}
	t.End = explore.NewReferee(script.World, engine, w.Routed).Summary()
	return t
}

// lines are a step as a transcript has it.
func (s *state) lines(what step) (lines []string) {
	image := func(name string) string {
		i := slices.IndexFunc(s.now.Versions(), func(v sim.Version) bool { return strings.HasSuffix(name, v.Hash) })
		return s.now.Versions()[i].Image
	}
	switch what.kind {
	case pass:
		b := what.behind
		for _, k := range []struct {
			kind string
			n    uint8
		}{{"rollout", b.rollout}, {"replicasets", b.replicaSets}, {"services", b.services}, {"routes", b.routes}, {"analyses", b.runs}} {
			if k.n > 0 {
				lines = append(lines, fmt.Sprintf("stale %s %d", k.kind, k.n))
			}
		}
		if what.crash > 0 {
			lines = append(lines, fmt.Sprintf("crash after %d writes", what.crash))
		}
		return append(lines, "look")
	case resync:
		return []string{"sync " + image(s.now.Syncable()[what.which])}
	case start:
		return []string{"start " + image(s.now.Starting()[what.which])}
	case tell:
		return []string{"terminated"}
	case judge:
		return []string{fmt.Sprintf("verdict %d %s", what.which+1, verdicts[what.verdict])}
	case end:
		return []string{fmt.Sprintf("outcome %d %s", what.which+1, verdicts[what.verdict])}
	case tick:
		return []string{"jump " + s.now.Deadline().Sub(s.now.Now()).String()}
	case act:
		return []string{s.Moves[what.which].Line}
	}
	return nil
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
const letters = "psrejxtm"

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
	case judge, end:
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
	case judge, end:
		which, verdict, _ := strings.Cut(rest, ".")
		s.which, s.verdict = number(which), number(verdict)
	case tick:
		s.late = rest == "l"
	case tell:
	}
	return s, err
}
