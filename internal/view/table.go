package view

import (
	"strings"
	"unicode"

	"github.com/sluice-delivery/sluice/internal/clean"
)

// row is a line of the tree. Branch connects it to the lines above, including the icon; it is never cut.
type row struct {
	branch, name, kind string
	status             Status
	age, info          string
}

// The minimum width of a column when there is not enough room. Info has the important things first.
const (
	leastName = 16
	leastInfo = 10 // "ready:1/1" and a space to the edge
	gap       = "  "
)

// table lays rows out in columns. If they need more than width columns, with 0 for no limit, it first shortens the end of
// the info, then the middle of the names, and then leaves out the kinds, which the icons show as well.
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
			span{text: statusText(r.status), color: iconColor(r.status.Icon)},
			span{text: strings.Repeat(" ", status-width(statusText(r.status))) + gap + pad(r.age, ages) + gap},
			span{text: cut(r.info, info)})
		if i == 0 {
			l = line{{text: l.plain(), color: bold}}
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

// span is text of one color, line is spans side by side.
type (
	span struct {
		text  string
		color color
	}
	line []span
)

// color is the ANSI code for the terminal, empty for its default color.
type color string

const (
	red    color = "31"
	green  color = "32"
	yellow color = "33"
	cyan   color = "36"
	bold   color = "1"
	faint  color = "2"
)

func iconColor(i Icon) color {
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
func (l line) render(limit int, colors bool) string {
	text := strings.TrimRightFunc(oneLine(l.plain()), unicode.IsSpace)
	if limit > 0 {
		text = cut(text, limit)
	}
	if !colors {
		return text
	}
	var b strings.Builder
	for _, s := range l {
		part := head(text, width(oneLine(s.text)))
		text = text[len(part):]
		if s.color == "" || part == "" {
			b.WriteString(part)
			continue
		}
		b.WriteString("\x1b[" + string(s.color) + "m" + part + "\x1b[0m")
	}
	return b.String()
}

var spaces = strings.NewReplacer("\n", " ", "\t", " ", "\r", " ")

// oneLine is a text on one line without control characters: messages come from anyone who runs the pods.
func oneLine(s string) string { return clean.Text(spaces.Replace(s)) }
