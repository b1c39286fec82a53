package check

import (
	"fmt"
	"strings"
	"time"
)

// Names are those of the worlds.
func Names() string {
	names := make([]string, len(Worlds))
	for i, w := range Worlds {
		names[i] = w.Name
	}
	return strings.Join(names, ", ")
}

// Line is a result in one line.
func Line(r Result) string {
	text := fmt.Sprintf("%s: %d states in %d places, %d transitions, %d at rest, %d steps deep, %s", r.World.Name, r.States, r.Places, r.Transitions, r.Rests, r.Depth, r.Took.Round(time.Millisecond))
	if !r.Complete {
		text += ", not searched to its end"
	}
	return text
}

// Table is what came of searches, in Markdown.
func Table(all []Result) string {
	var b strings.Builder
	fmt.Fprintln(&b, "| world | what is in it | what may happen | states | transitions | time |")
	fmt.Fprintln(&b, "|---|---|---|--:|--:|--:|")
	states, transitions := 0, 0
	var took time.Duration
	for _, r := range all {
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %d | %s |\n", r.World.Name, r.World.contents(), r.World.bounds(), r.States, r.Transitions, r.Took.Round(time.Second))
		states, transitions, took = states+r.States, transitions+r.Transitions, took+r.Took
	}
	fmt.Fprintf(&b, "| all | | | %d | %d | %s |\n", states, transitions, took.Round(time.Second))
	return b.String()
}

func (w *World) contents() string {
	return fmt.Sprintf("%s: `%s`", w.Text, strings.TrimPrefix(w.Lines[0], "rollout web "))
}

// bounds are what may happen in a world, and how often.
func (w *World) bounds() string {
	var parts []string
	for _, m := range w.Moves {
		text := m.Line
		if m.More > 0 {
			text += fmt.Sprintf(" (%d times)", 1+m.More)
		}
		parts = append(parts, text)
	}
	text := fmt.Sprintf("%d of: %s", w.Total, strings.Join(parts, ", "))
	more := func(n uint8, one, many string) {
		switch {
		case n == 1:
			text += "; " + one
		case n > 1:
			text += fmt.Sprintf("; %d %s", n, many)
		}
	}
	more(w.Crashes, "one crash", "crashes")
	more(w.Stale, fmt.Sprintf("one pass whose caches are at most %d writes behind", w.Lag), fmt.Sprintf("passes whose caches are at most %d writes behind", w.Lag))
	more(w.Delays, "one deadline that comes before what is due", "deadlines that come before what is due")
	return text
}
