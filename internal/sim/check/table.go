package check

import (
	"cmp"
	"fmt"
	"slices"
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
	text := fmt.Sprintf("%s: %d states in %d places, %d transitions, %d at rest, %d steps deep, %s",
		r.World.Name, r.States, r.Places, r.Transitions, r.Rests, r.Depth, r.Took.Round(time.Millisecond))
	if !r.Complete {
		text += ", not searched to its end"
	}
	return text
}

// Figure is what came of a search of a whole world, for docs/reliability.md.
type Figure struct {
	World string `json:"world"`
	// Bounds are what was in the world and what could happen there: a figure counts for that alone.
	Bounds      string  `json:"bounds"`
	States      int     `json:"states"`
	Places      int     `json:"places"`
	Transitions int     `json:"transitions"`
	Depth       int     `json:"depth"`
	Seconds     float64 `json:"seconds"`
	// Engine is the commit that was searched.
	Engine string `json:"engine"`
}

// FigureOf is that of a result.
func FigureOf(r Result, engine string) Figure {
	return Figure{
		World: r.World.Name, Bounds: r.World.contents() + " | " + r.World.bounds(), States: r.States, Places: r.Places, Transitions: r.Transitions, Depth: r.Depth,
		Seconds: r.Took.Seconds(), Engine: engine,
	}
}

// Put puts a figure among others, in the place of an older one of its world.
func (f Figure) Put(all []Figure) []Figure {
	all = append(slices.DeleteFunc(all, func(have Figure) bool { return have.World == f.World }), f)
	slices.SortFunc(all, func(a, b Figure) int { return cmp.Compare(a.World, b.World) })
	return all
}

// Begin and End are the lines of a page between which the table is.
const (
	Begin = "<!-- the table of make check -->\n"
	End   = "<!-- the end of that table -->\n"
)

// Page is a page with the table of figures in its place. Figures of worlds that have changed since are left out.
func Page(page string, all []Figure) (string, error) {
	before, rest, ok := strings.Cut(page, Begin)
	_, after, alsoOK := strings.Cut(rest, End)
	if !ok || !alsoOK {
		return "", fmt.Errorf("the page has no table: write %q and %q where it goes", Begin, End)
	}
	return before + Begin + "\n" + Table(all) + "\n" + End + after, nil
}

// Table is figures in Markdown.
func Table(all []Figure) string {
	var b strings.Builder
	fmt.Fprintln(&b, "| world | what is in it | what may happen | left out | states | places | transitions | CPU time |")
	fmt.Fprintln(&b, "|---|---|---|---|--:|--:|--:|--:|")
	var sum Figure
	n := 0
	for _, w := range Worlds {
		i := slices.IndexFunc(all, func(f Figure) bool { return f.World == w.Name && f.Bounds == w.contents()+" | "+w.bounds() })
		if i < 0 {
			continue
		}
		f := all[i]
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %.1f s |\n", w.Name, w.contents(), w.bounds(), w.leftOut(), thousands(f.States), thousands(f.Places), thousands(f.Transitions), f.Seconds)
		sum.States, sum.Places, sum.Transitions, sum.Seconds = sum.States+f.States, sum.Places+f.Places, sum.Transitions+f.Transitions, sum.Seconds+f.Seconds
		n++
	}
	fmt.Fprintf(&b, "| %d worlds | | | | %s | %s | %s | %.0f s |\n", n, thousands(sum.States), thousands(sum.Places), thousands(sum.Transitions), sum.Seconds)
	return b.String()
}

func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func (w *World) contents() string {
	return fmt.Sprintf("%s: `%s`", w.Text, strings.TrimPrefix(strings.Join(w.Lines, "`, `"), "rollout web "))
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

// leftOut is what a world leaves out of what could happen to such a Rollout, besides what all do (docs/design/small-worlds.md).
func (w *World) leftOut() string {
	var parts []string
	if w.Stale == 0 {
		parts = append(parts, "caches that lag")
	}
	if w.Crashes == 0 {
		parts = append(parts, "crashes")
	}
	if w.Delays == 0 {
		parts = append(parts, "late deliveries")
	}
	for _, line := range w.Lines {
		switch {
		case strings.Contains(line, "; experiment "):
			parts = append(parts, "the Experiment's own pods")
		case strings.Contains(line, "template="):
			parts = append(parts, "measurements")
		}
	}
	return strings.Join(parts, ", ")
}
