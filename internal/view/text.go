package view

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// TextOptions describe the terminal or pipe that the text is written to.
type TextOptions struct {
	// Width and Height are the terminal's. 0 is no limit: a pipe.
	Width, Height int
	// Colors are ANSI escape sequences.
	Colors bool
}

// labelWidth is the column where the values of the header begin; scripts rely on it.
const labelWidth = 17

// Text is the whole picture. If it is higher than the terminal it is folded: first old versions without pods become one
// line, then steps far from the current one, then the pods that are ready, then the numbers of the header.
func (r Rollout) Text(o TextOptions) string { return draw(o, r.lines) }

// draw draws lines, folded no more than is needed.
func draw(o TextOptions, folded func(f fold, limit int) []line) string {
	var lines []line
	for f := foldNothing; f <= foldHeader; f++ {
		lines = folded(f, o.Width)
		if o.Height <= 0 || len(lines) <= o.Height {
			break
		}
	}
	if o.Height > 0 && len(lines) > o.Height {
		hidden := len(lines) - o.Height + 1
		lines = append(lines[:o.Height-1], line{{text: fmt.Sprintf("%s %d more lines", ellipsis, hidden), color: faint}})
	}
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.render(o.Width, o.Colors))
		b.WriteByte('\n')
	}
	return b.String()
}

// fold is how much of a picture is folded; each level includes those before it.
type fold int

const (
	foldNothing fold = iota
	foldOldRevisions
	foldSteps
	foldPods
	foldHeader
)

func (r Rollout) lines(f fold, limit int) []line {
	lines := r.header(f, limit)
	lines = append(lines, r.stepLines(f)...)
	lines = append(lines, line{})
	return append(lines, table(r.tree(f), limit)...)
}

func (r Rollout) header(f fold, limit int) []line {
	lines := []line{
		field("Name:", span{text: r.Name}),
		field("Namespace:", span{text: r.Namespace}),
		field("Status:", span{text: r.Status.String(), color: iconColor(r.Status.Icon)}),
	}
	lines = append(lines, wrapped("Message:", r.Status.Message, limit)...)
	for _, warning := range r.Warnings {
		lines = append(lines, wrapped("Warning:", warning, limit)...)
	}
	lines = append(lines, r.strategyLines(f)...)
	lines = append(lines, imageLines(r.Images, limit)...)
	return append(lines, r.Replicas.lines(f)...)
}

func imageLines(images []Image, limit int) []line {
	var lines []line
	for i, image := range images {
		label := ""
		if i == 0 {
			label = "Images:"
		}
		lines = append(lines, field(label, image.spans(limit)...))
	}
	return lines
}

func (r Rollout) strategyLines(f fold) []line {
	lines := []line{field("Strategy:", span{text: string(r.Strategy)})}
	switch r.Strategy {
	case BlueGreen:
		if r.Pause != nil {
			lines = append(lines, field("  Pause:", r.Pause.bar()...))
		}
	case Canary:
		if f >= foldHeader {
			return append(lines, field("  SetWeight:", span{text: fmt.Sprintf("%d, actual %d", r.SetWeight, r.ActualWeight)}))
		}
		if len(r.Steps) > 0 {
			lines = append(lines, field("  Step:", span{text: fmt.Sprintf("%d/%d", r.StepsDone, len(r.Steps))}))
		}
		lines = append(lines, number("  SetWeight:", r.SetWeight), number("  ActualWeight:", r.ActualWeight))
	}
	return lines
}

func (n Replicas) lines(f fold) []line {
	if f >= foldHeader {
		return []line{field("Replicas:", span{text: fmt.Sprintf("%d desired, %d current, %d updated, %d ready, %d available",
			n.Desired, n.Current, n.Updated, n.Ready, n.Available)})}
	}
	return []line{
		{{text: "Replicas:", color: bold}},
		number("  Desired:", n.Desired),
		number("  Current:", n.Current),
		number("  Updated:", n.Updated),
		number("  Ready:", n.Ready),
		number("  Available:", n.Available),
	}
}

func field(label string, value ...span) line {
	return append(line{{text: pad(label, labelWidth), color: bold}}, value...)
}

func number(label string, n int32) line { return field(label, span{text: strconv.Itoa(int(n))}) }

// wrapped is a text that continues on the next line if it is too long for one. An empty text is no line.
func wrapped(label, text string, limit int) []line {
	if text == "" {
		return nil
	}
	parts := []string{text}
	if limit > 0 {
		parts = wrap(text, max(limit-labelWidth, 20))
	}
	lines := make([]line, len(parts))
	for i, part := range parts {
		lines[i] = field(label, span{text: part})
		label = ""
	}
	return lines
}

// spans are the image and its tags. If there is not enough room, the name is cut at its start: that is the registry, which
// matters least; the version is at the end.
func (i Image) spans(limit int) []span {
	var tags []span
	for n, t := range i.Tags {
		separator := ", "
		if n == 0 {
			separator = " ("
		}
		tags = append(tags, span{text: separator}, span{text: string(t), color: tagColor(t)})
	}
	if len(tags) > 0 {
		tags = append(tags, span{text: ")"})
	}
	name := i.Name
	if limit > 0 {
		name = cutMiddle(name, max(limit-labelWidth-width(line(tags).plain()), leastName))
	}
	return append([]span{{text: name}}, tags...)
}

func tagColor(t Tag) color {
	switch t {
	case TagStable, TagActive:
		return green
	case TagCanary, TagPreview:
		return yellow
	case TagPing, TagPong:
	}
	return ""
}

// aroundCurrent is how many steps before and after the current one remain when steps are folded.
const aroundCurrent = 2

func (r Rollout) stepLines(f fold) []line {
	var (
		lines  []line
		label  = "Steps:"
		hidden int
	)
	around := aroundCurrent
	if f >= foldHeader {
		around = 1
	}
	for i, s := range r.Steps {
		if f >= foldSteps && (i < r.StepsDone-around || i > r.StepsDone+around) {
			hidden++
			continue
		}
		lines = append(lines, field(label, r.stepSpans(i, s)...))
		label = ""
	}
	if hidden > 0 {
		lines = append(lines, field(label, span{text: fmt.Sprintf("%s %d more steps", ellipsis, hidden), color: faint}))
	}
	return lines
}

func (r Rollout) stepSpans(i int, s Step) []span {
	text := fmt.Sprintf("%*d  %s", len(strconv.Itoa(len(r.Steps))), i+1, s.Text)
	switch s.State {
	case StepDone:
		return []span{{text: string(IconHealthy) + " ", color: green}, {text: text, color: faint}}
	case StepAhead:
		return []span{{text: "  " + text}}
	case StepCurrent:
	}
	spans := []span{{text: "▸ " + text, color: yellow}}
	switch {
	case r.Pause != nil:
		return append(append(spans, span{text: gap}), r.Pause.bar()...)
	case s.Waits && r.Status.Icon == IconPaused:
		return append(spans, span{text: gap + "until someone promotes"})
	}
	return spans
}

// barWidth is the length of the bar of a timed pause.
const barWidth = 20

func (p Pause) bar() []span {
	filled := int(int64(barWidth) * int64(p.Elapsed) / int64(p.Total))
	return []span{
		{text: strings.Repeat("━", filled), color: green},
		{text: strings.Repeat("─", barWidth-filled), color: faint},
		{text: " " + human(p.Remaining()) + " left"},
	}
}

// human is a duration as kubectl writes ages, rounded up, so that it is not zero while time is left.
func human(d time.Duration) string {
	return duration.HumanDuration((d + time.Second - 1).Truncate(time.Second))
}

// Human is the time left, as kubectl writes durations.
func Human(d time.Duration) string { return human(d) }

// Age is the time that has passed, as kubectl writes it.
func Age(d time.Duration) string { return duration.HumanDuration(d) }
