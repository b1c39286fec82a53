package view

import (
	"strings"
	"unicode"

	"github.com/sluice-delivery/sluice/internal/clean"
)

// row is a line of the tree. Branch is what hangs it up on the lines above, icon and all; it is never cut.
type row struct {
	branch, name, kind string
	status             Status
	age, info          string
}

// The least that is left of a column when there is not enough room for all. Info has the important things first.
const (
	leastName = 16
	leastInfo = 10 // "ready:1/1" and a space to the edge
	gap       = "  "
)

// table lays rows out in columns. Where they need more than width columns, 0 being no limit, it shortens what is longest and tells
// least: first the end of the info, then the middle of the names; then it leaves out the kinds, which the icons tell as well.
func table(rows []row, limit int) []line {
	rows = append([]row{{name: "NAME", kind: "KIND", status: Status{Text: "STATUS"}, age: "AGE", info: "INFO"}}, rows...)
	var name, kind, status, ages, info int
	for _, r := range rows {
		name = max(name, width(r.branch+r.name))
		kind = max(kind, width(r.kind))
		status = max(status, width(statusText(r.status)))
		ages = max(ages, width(r.age))
		info = max(info, width(r.info))
	}
	gaps := 4 * len(gap)
	if limit > 0 && name+kind+status+ages+info+gaps > limit {
		info = max(min(info, leastInfo), limit-name-kind-status-ages-gaps)
		room := limit - kind - status - ages - info - gaps
		if room < min(name, deepest(rows)+leastName) {
			room, kind, gaps = room+kind+len(gap), 0, gaps-len(gap)
		}
		name = min(name, max(room, deepest(rows)+leastName))
		info = max(0, limit-name-kind-status-ages-gaps)
	}

	lines := make([]line, 0, len(rows))
	for i, r := range rows {
		l := line{{text: pad(r.branch+cutMiddle(r.name, name-width(r.branch)), name) + gap}}
		if kind > 0 {
			l = append(l, span{text: pad(r.kind, kind) + gap})
		}
		l = append(l,
			span{text: statusText(r.status), colour: iconColour(r.status.Icon)},
			span{text: strings.Repeat(" ", status-width(statusText(r.status))) + gap + pad(r.age, ages) + gap},
			span{text: cut(r.info, info)})
		if i == 0 {
			l = line{{text: l.plain(), colour: bold}}
		}
		lines = append(lines, l)
	}
	return lines
}

func deepest(rows []row) int {
	n := 0
	for _, r := range rows {
		n = max(n, width(r.branch))
	}
	return n
}

func statusText(s Status) string {
	if s.Icon == "" {
		return s.Text
	}
	return s.String()
}

// span is text of one colour, line what stands side by side.
type (
	span struct {
		text   string
		colour colour
	}
	line []span
)

// colour is what a terminal is told, empty for its normal colour.
type colour string

const (
	red    colour = "31"
	green  colour = "32"
	yellow colour = "33"
	cyan   colour = "36"
	bold   colour = "1"
	faint  colour = "2"
)

func iconColour(i Icon) colour {
	switch i {
	case IconHealthy:
		return green
	case IconDegraded:
		return red
	case IconPaused, IconWarning:
		return yellow
	case IconProgressing:
		return cyan
	case IconIdle:
		return faint
	case IconUnknown, IconPending:
	}
	return ""
}

func (l line) plain() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.text)
	}
	return b.String()
}

// render cuts the line to limit columns, 0 being no limit, and drops spaces at its end.
func (l line) render(limit int, colours bool) string {
	text := strings.TrimRightFunc(oneLine(l.plain()), unicode.IsSpace)
	if limit > 0 {
		text = cut(text, limit)
	}
	if !colours {
		return text
	}
	var b strings.Builder
	for _, s := range l {
		part := head(text, width(oneLine(s.text)))
		text = text[len(part):]
		if s.colour == "" || part == "" {
			b.WriteString(part)
			continue
		}
		b.WriteString("\x1b[" + string(s.colour) + "m" + part + "\x1b[0m")
	}
	return b.String()
}

var spaces = strings.NewReplacer("\n", " ", "\t", " ", "\r", " ")

// oneLine is a text on one line, in which nothing steers the terminal: messages come from whoever runs the pods.
func oneLine(s string) string { return clean.Text(spaces.Replace(s)) }
