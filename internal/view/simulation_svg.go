package view

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"time"
)

// SVG is the picture of a simulation as a standalone file: what each step requests, the pods of each version, the new
// version's share of the traffic, events from outside and measurements, over time.
func (s Simulation) SVG() string { return s.picture().file() }

// The sizes in a picture, in its own units.
const (
	pictureWidth               = 900
	pictureLeft, pictureRight  = 104, 46
	pictureHead, pictureStep   = 34, 22
	pictureRow, picturePods    = 16, 190
	pictureAxis, pictureLegend = 24, 26
	pictureLetter              = 6.3   // the width of a letter
	pictureLabel, pictureTicks = 14, 9 // how many letters a label has at most, and how many times are labeled
)

// picture draws a simulation.
type picture struct {
	Simulation
	out strings.Builder
	// end is the time at the right edge; top and bottom are where the pods are drawn.
	end         time.Duration
	top, bottom float64
	height      float64
}

func (s Simulation) picture() *picture {
	p := &picture{Simulation: s}
	p.end = max(time.Second, time.Duration(float64(s.Summary.Duration)*1.05)) // room to show the final state
	p.steps()
	p.acts()
	p.bottom = p.top + picturePods
	p.grid()
	p.pods()
	p.share()
	p.marks()
	p.lanes()
	p.axis()
	p.legend()
	return p
}

// pictureColors are for light paper and for dark.
const pictureColors = `:root { color-scheme: light dark; --ink: #1b2330; --paper: #fff; --faint: #5d6875; --line: #dfe3e9; --band: #eef1f5; --fresh: #2f9e5f; --others: #5b8def; --trial: #a86fd8; --rest: #c3cad3; --weight: #b4380f; --warn: #8a5a00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --paper: #14181f; --faint: #9aa5b3; --line: #2d3541; --band: #1f2630; --fresh: #37a869; --others: #5c88e8; --trial: #b98ae6; --rest: #4a5463; --weight: #ff9466; --warn: #e6b450; } }
.timeline { width: 100%; height: auto; display: block; font-family: system-ui, sans-serif; }
.timeline text { fill: var(--faint); font-size: 12px; } .timeline .strong { fill: var(--ink); font-weight: 600; font-size: 13px; }
.timeline .grid { stroke: var(--line); } .timeline .band { fill: var(--band); } .timeline .paper { fill: var(--paper); stroke: var(--line); }
.timeline .fresh { fill: var(--fresh); } .timeline .others { fill: var(--others); } .timeline .trial { fill: var(--trial); } .timeline .rest { fill: var(--rest); }
.timeline .weight { fill: none; stroke: var(--weight); stroke-width: 2.5; stroke-linejoin: round; } .timeline text.percent { fill: var(--weight); }
.timeline .act { stroke: var(--ink); stroke-dasharray: 3 3; } .timeline text.act { fill: var(--ink); stroke: none; }
.timeline .bad { fill: var(--weight); } .timeline .unsure { fill: var(--warn); }
`

// inline is the picture as part of a page that defines its colors.
func (p *picture) inline() string { return p.svg("", "") }

// file is the picture with its own colors and a title.
func (p *picture) file() string {
	title := fmt.Sprintf(`<text class="strong" x="12" y="22">%s</text><text x="%d" y="22" text-anchor="end">%s</text>`,
		shown(p.Rollout+": "+p.Strategy), pictureWidth-12, shown(p.Summary.sentence()))
	paper := fmt.Sprintf(`<rect class="paper" x="0.5" y="0.5" width="%d" height="%.0f" rx="8"/>`, pictureWidth-1, p.height-1)
	return p.svg(` xmlns="http://www.w3.org/2000/svg"`, "<style>\n"+pictureColors+"</style>\n"+paper+"\n"+title) + "\n"
}

func (p *picture) svg(attributes, before string) string {
	top := 0
	if before == "" {
		top = pictureHead - 6 // there is no title
	}
	return fmt.Sprintf(`<svg%s class="timeline" viewBox="0 %d %d %.0f" role="img" aria-label="%s">`+"\n%s\n%s</svg>",
		attributes, top, pictureWidth, p.height-float64(top), shown("how the update of "+p.Rollout+" would go: "+p.Summary.sentence()), before, p.out.String())
}

// sentence is the result in a line.
func (p Played) sentence() string {
	return fmt.Sprintf("%s after %s · most pods %d · lowest capacity %d", p.Result(), p.Duration, p.MostPods, p.LeastAvailable)
}

func (p *picture) x(at time.Duration) float64 {
	return pictureLeft + (pictureWidth-pictureLeft-pictureRight)*float64(min(at, p.end))/float64(p.end)
}

// y is the height of a share of the most pods, or of all traffic.
func (p *picture) y(share float64) float64 { return p.bottom - picturePods*share }

func (p *picture) draw(format string, args ...any) { fmt.Fprintf(&p.out, format+"\n", args...) }

// phase is a period with the same current step.
type phase struct {
	from, to time.Duration
	text     string
}

// steps draws a band with what each step requests.
func (p *picture) steps() {
	p.top = pictureHead
	if len(p.Steps) == 0 {
		return
	}
	for i, s := range p.stepPhases() {
		from, to := p.x(s.from), p.x(s.to)
		if i%2 == 0 {
			p.draw(`<rect class="band" x="%.1f" y="%.1f" width="%.1f" height="%d"/>`, from, p.top, to-from, pictureStep)
		}
		if float64(len([]rune(s.text)))*pictureLetter < to-from-4 {
			p.draw(`<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, (from+to)/2, p.top+15, shown(s.text))
		}
	}
	p.label("steps", p.top+15)
	p.top += pictureStep + 6
}

func (p *picture) stepPhases() []phase {
	var all []phase
	add := func(at time.Duration, text string) {
		if n := len(all); n > 0 {
			all[n-1].to = at
			if all[n-1].text == text {
				return
			}
		}
		all = append(all, phase{from: at, to: p.end, text: text})
	}
	for _, m := range p.Moments {
		text := ""
		switch {
		case strings.HasPrefix(m.Message, "RolloutAborted"):
			text = "aborted"
		case m.Phase == "Healthy":
			text = "done"
		case m.StepsDone:
			text = "promotion"
		case m.Step > 0 && m.Step <= len(p.Steps):
			text = p.Steps[m.Step-1]
		}
		add(time.Duration(m.At), text)
	}
	if n := len(all); n > 0 {
		all[n-1].to = p.end
	}
	return all
}

// label names a row at the left.
func (p *picture) label(text string, y float64) {
	if letters := []rune(text); len(letters) > pictureLabel {
		text = string(letters[:pictureLabel-1]) + "…"
	}
	p.draw(`<text x="%d" y="%.1f" text-anchor="end">%s</text>`, pictureLeft-8, y, shown(text))
}

// acts draws events from outside, in as many rows as needed so that none covers another.
func (p *picture) acts() {
	var ends []float64 // of the rows
	y := func(row int) float64 { return p.top + float64(row+1)*pictureRow - 4 }
	for _, m := range p.Moments {
		if len(m.Acts) == 0 {
			continue
		}
		text := strings.Join(m.Acts, ", ")
		wide := float64(len([]rune(text))) * pictureLetter
		x := min(p.x(time.Duration(m.At)), pictureWidth-pictureRight-wide)
		row := slices.IndexFunc(ends, func(end float64) bool { return end < x })
		if row < 0 {
			row, ends = len(ends), append(ends, 0)
		}
		ends[row] = x + wide + 12
		p.draw(`<text class="act" x="%.1f" y="%.1f">%s</text>`, x+3, y(row), shown(text))
	}
	p.top += float64(len(ends))*pictureRow + 4
}

// marks draws lines from events down to the time axis.
func (p *picture) marks() {
	for _, m := range p.Moments {
		if x := p.x(time.Duration(m.At)); len(m.Acts) > 0 {
			p.draw(`<line class="act" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, x, x, p.top-6, p.bottom)
		}
	}
}

func (p *picture) most() int { return max(1, p.Summary.MostPods) }

func (p *picture) grid() {
	for _, part := range []float64{0, 0.5, 1} {
		p.draw(`<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>`, pictureLeft, pictureWidth-pictureRight, p.y(part), p.y(part))
		p.draw(`<text class="percent" x="%d" y="%.1f">%.0f %%</text>`, pictureWidth-pictureRight+6, p.y(part)+4, part*100)
	}
	p.label("0", p.y(0)+4)
	p.label(fmt.Sprintf("%d pods", p.most()), p.y(1)+4)
}

// pods draws the pods as areas on top of each other.
func (p *picture) pods() {
	area := func(class string, height func(stack) int) {
		last := p.y(0)
		fmt.Fprintf(&p.out, `<path class="%s" d="M%.1f %.1f`, class, p.x(0), last)
		for _, m := range p.Moments {
			y := p.y(float64(height(m.stack())) / float64(p.most()))
			if y != last {
				at := p.x(time.Duration(m.At))
				fmt.Fprintf(&p.out, ` L%.1f %.1f L%.1f %.1f`, at, last, at, y)
				last = y
			}
		}
		p.draw(` L%.1f %.1f L%.1f %.1f Z"/>`, p.x(p.end), last, p.x(p.end), p.y(0))
	}
	area("rest", func(s stack) int { return s.fresh + s.others + s.trial + s.rest })
	area("trial", func(s stack) int { return s.fresh + s.others + s.trial })
	area("others", func(s stack) int { return s.fresh + s.others })
	area("fresh", func(s stack) int { return s.fresh })
}

// share draws the new version's share of the traffic as a line.
func (p *picture) share() {
	last := p.y(0)
	fmt.Fprintf(&p.out, `<polyline class="weight" points="%.1f,%.1f`, p.x(0), last)
	for _, m := range p.Moments {
		if y := p.y(m.Weight / 100); y != last {
			at := p.x(time.Duration(m.At))
			fmt.Fprintf(&p.out, ` %.1f,%.1f %.1f,%.1f`, at, last, at, y)
			last = y
		}
	}
	p.draw(` %.1f,%.1f"/>`, p.x(p.end), last)
}

// lanes draws a row of measurements for each metric.
func (p *picture) lanes() {
	var metrics []string
	y := p.bottom + 6
	for _, m := range p.Measured {
		if !slices.Contains(metrics, m.Metric) {
			metrics = append(metrics, m.Metric)
			p.label(m.Metric, y+float64(len(metrics))*pictureRow-4)
		}
	}
	row := func(metric string) float64 { return y + float64(slices.Index(metrics, metric)+1)*pictureRow - 8 }
	drawn := map[string]float64{}
	for _, m := range p.Measured {
		x, key := p.x(time.Duration(m.At)), m.Metric+m.Phase
		if last, ok := drawn[key]; ok && x-last < 3 {
			continue // it would be indistinguishable from the previous one
		}
		drawn[key] = x
		p.draw(`<circle class="%s" cx="%.1f" cy="%.1f" r="3.5"/>`, judged(m.Phase), x, row(m.Metric))
	}
	p.height = y + float64(len(metrics))*pictureRow
}

func judged(phase string) string {
	switch phase {
	case "Successful":
		return "fresh"
	case "Failed", "Error":
		return "bad"
	}
	return "unsure"
}

// axis draws the times.
func (p *picture) axis() {
	step := time.Duration(0)
	for _, step = range []time.Duration{
		time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute,
		10 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour, 24 * time.Hour, 48 * time.Hour,
	} {
		if p.end/step < pictureTicks {
			break
		}
	}
	for at := time.Duration(0); at <= p.end; at += step {
		p.draw(`<line class="grid" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, p.x(at), p.x(at), p.height, p.height+4)
		p.draw(`<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, p.x(at), p.height+17, Seconds(at))
	}
	p.height += pictureAxis
}

// legend explains the colors in the picture.
func (p *picture) legend() {
	var all stack
	for _, m := range p.Moments {
		s := m.stack()
		all = stack{all.fresh + s.fresh, all.others + s.others, all.trial + s.trial, all.rest + s.rest}
	}
	x, y := float64(pictureLeft), p.height+15
	entry := func(mark, text string) {
		p.draw(mark, x, y)
		p.draw(`<text x="%.1f" y="%.1f">%s</text>`, x+16, y, text)
		x += 34 + float64(len(text))*pictureLetter
	}
	const square = `<rect class="%s" x="%%.1f" y="%%.1f" width="11" height="11" rx="2" transform="translate(0 -10)"/>`
	for _, kind := range []struct {
		class, text string
		there       int
	}{
		{"fresh", "new version", all.fresh},
		{"others", "other versions", all.others},
		{"trial", "experiment", all.trial},
		{"rest", "not available", all.rest},
	} {
		if kind.there > 0 {
			entry(fmt.Sprintf(square, kind.class), kind.text)
		}
	}
	entry(`<path class="weight" d="M%.1f %.1f h12" transform="translate(0 -4)"/>`, "traffic to the new version")
	if len(p.Measured) > 0 {
		entry(`<circle class="fresh" cx="%.1f" cy="%.1f" r="3.5" transform="translate(6 -4)"/>`, "measured")
	}
	if slices.ContainsFunc(p.Measured, func(m Measured) bool { return judged(m.Phase) == "bad" }) {
		entry(`<circle class="bad" cx="%.1f" cy="%.1f" r="3.5" transform="translate(6 -4)"/>`, "failed")
	}
	p.height += pictureLegend
}

// shown is a text in a picture.
func shown(text string) string { return html.EscapeString(oneLine(text)) }
