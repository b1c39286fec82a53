package view

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// TextOptions say where a text goes.
type TextOptions struct {
	// Width and Height are the terminal's. 0 is no limit: a pipe.
	Width, Height int
	// Colours are ANSI escape sequences.
	Colours bool
}

// labelWidth is the column at which the values of the header begin; scripts rely on it.
const labelWidth = 17

// Text is the whole picture. Where it is higher than the terminal it is folded: first old versions without pods become one line,
// then steps far from the current one, then the pods that are ready, then the numbers of the header.
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
		lines = append(lines[:o.Height-1], line{{text: fmt.Sprintf("%s %d more lines", ellipsis, hidden), colour: faint}})
	}
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.render(o.Width, o.Colours))
		b.WriteByte('\n')
	}
	return b.String()
}

// fold is how much of a picture is folded; each level folds what those before it do.
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
		field("Status:", span{text: r.Status.String(), colour: iconColour(r.Status.Icon)}),
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
		{{text: "Replicas:", colour: bold}},
		number("  Desired:", n.Desired),
		number("  Current:", n.Current),
		number("  Updated:", n.Updated),
		number("  Ready:", n.Ready),
		number("  Available:", n.Available),
	}
}

func field(label string, value ...span) line {
	return append(line{{text: pad(label, labelWidth), colour: bold}}, value...)
}

func number(label string, n int32) line { return field(label, span{text: strconv.Itoa(int(n))}) }

// wrapped is a text that goes on below itself where it is too long for one line. No text is no line.
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

// spans are the image and its tags. Where there is not enough room it is the name that is cut: it begins with the registry, which
// tells least, but it ends with the version.
func (i Image) spans(limit int) []span {
	var tags []span
	for n, t := range i.Tags {
		separator := ", "
		if n == 0 {
			separator = " ("
		}
		tags = append(tags, span{text: separator}, span{text: string(t), colour: tagColour(t)})
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

func tagColour(t Tag) colour {
	switch t {
	case TagStable, TagActive:
		return green
	case TagCanary, TagPreview:
		return yellow
	case TagPing, TagPong:
	}
	return ""
}

// aroundCurrent is how many steps before and after the current one are left when steps are folded.
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
		lines = append(lines, field(label, span{text: fmt.Sprintf("%s %d more steps", ellipsis, hidden), colour: faint}))
	}
	return lines
}

func (r Rollout) stepSpans(i int, s Step) []span {
	text := fmt.Sprintf("%*d  %s", len(strconv.Itoa(len(r.Steps))), i+1, s.Text)
	switch s.State {
	case StepDone:
		return []span{{text: string(IconHealthy) + " ", colour: green}, {text: text, colour: faint}}
	case StepAhead:
		return []span{{text: "  " + text}}
	case StepCurrent:
	}
	spans := []span{{text: "▸ " + text, colour: yellow}}
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
		{text: strings.Repeat("━", filled), colour: green},
		{text: strings.Repeat("─", barWidth-filled), colour: faint},
		{text: " " + human(p.Remaining()) + " left"},
	}
}

// human is a duration as kubectl writes ages, rounded up: what has a moment left is not over.
func human(d time.Duration) string {
	return duration.HumanDuration((d + time.Second - 1).Truncate(time.Second))
}

// Human is a length of time that is still to pass, in the words of kubectl.
func Human(d time.Duration) string { return human(d) }

// Age is a length of time that has passed, in the words of kubectl.
func Age(d time.Duration) string { return duration.HumanDuration(d) }
