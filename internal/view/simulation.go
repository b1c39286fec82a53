package view

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Simulation is an update as it would go, starting with the new template.
type Simulation struct {
	Rollout string `json:"rollout"`
	// Strategy is Canary or BlueGreen.
	Strategy string `json:"strategy"`
	// Steps of a canary, as in its spec.
	Steps   []string `json:"steps,omitempty"`
	Moments []Moment `json:"moments"`
	// Measured are the measurements of all analyses.
	Measured []Measured `json:"measured,omitempty"`
	Summary  Played     `json:"summary"`
	// Messages are the notifications that the update would lead to, if the caller asked for them.
	Messages []Message `json:"messages,omitempty"`
	// Warnings are bad practices in the spec, and what the picture cannot show.
	Warnings []string `json:"warnings,omitempty"`
}

// Message is a notification.
type Message struct {
	At      Seconds `json:"at"`
	Trigger string  `json:"trigger"`
	// Service and Recipient are where it would go.
	Service   string `json:"service"`
	Recipient string `json:"recipient"`
	// Event is the reason of the event that it is about, empty for a state.
	Event string `json:"event,omitempty"`
	// Error is why it cannot be made; otherwise Content is the message.
	Error   string         `json:"error,omitempty"`
	Content map[string]any `json:"content,omitempty"`
}

// lines are the message, and below it its content in order.
func (m Message) lines(limit int) []line {
	head := fmt.Sprintf("%-*s%s to %s:%s", momentIndent, m.At, m.Trigger, m.Service, m.Recipient)
	lines := []line{{{text: head}}}
	if m.Error != "" {
		return append(lines, indented("cannot be sent: "+m.Error, limit, red)...)
	}
	if text, ok := m.Content["message"].(string); ok {
		lines = append(lines, indented(text, limit, "")...)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Content)) {
		if name == "message" {
			continue
		}
		text, err := json.MarshalIndent(m.Content[name], "", "  ")
		if err != nil {
			text = []byte(err.Error())
		}
		for part := range strings.Lines(name + ": " + string(text)) {
			lines = append(lines, line{{text: strings.Repeat(" ", momentIndent) + strings.TrimRight(part, "\n")}})
		}
	}
	return lines
}

// indented is a text below what happened at an instant.
func indented(text string, limit int, c color) []line {
	var lines []line
	for _, part := range folded(text, limit-momentIndent) {
		lines = append(lines, line{{text: strings.Repeat(" ", momentIndent) + part, color: c}})
	}
	return lines
}

// Moment is what changed at an instant, and the state afterwards.
type Moment struct {
	// At is the time since the new template, in seconds.
	At Seconds `json:"at"`
	// Done is what was done, Waiting is what the rollout waits for. Acts are the parts of Done that came from outside.
	Done    []string `json:"done,omitempty"`
	Acts    []string `json:"acts,omitempty"`
	Waiting string   `json:"waiting,omitempty"`
	// Step is the current step, counted from one, and Steps is how many there are; none for blue-green. StepsDone: all of
	// them are complete.
	Step      int  `json:"step,omitempty"`
	Steps     int  `json:"steps,omitempty"`
	StepsDone bool `json:"stepsDone,omitempty"`
	// Weight is the new version's share of the traffic in percent.
	Weight   float64 `json:"weight"`
	Phase    string  `json:"phase"`
	Message  string  `json:"message,omitempty"`
	Versions []Pods  `json:"versions"`
}

// Measured is a measurement and its result.
type Measured struct {
	At     Seconds `json:"at"`
	Metric string  `json:"metric"`
	Phase  string  `json:"phase"`
}

// Pods are those of one version.
type Pods struct {
	Version   string `json:"version"`
	Wanted    int    `json:"wanted"`
	Pods      int    `json:"pods"`
	Available int    `json:"available"`
	// Experiment: the pods of a template of an Experiment.
	Experiment bool `json:"experiment,omitempty"`
}

// Played is a simulation in numbers.
type Played struct {
	// Phase at the end.
	Phase   string `json:"phase"`
	Message string `json:"message,omitempty"`
	// Promoted: the new version is stable at the end. Aborted: the update was aborted.
	Promoted bool `json:"promoted"`
	Aborted  bool `json:"aborted"`
	// Duration is the time until nothing changed anymore.
	Duration Seconds `json:"duration"`
	// MostPods is the highest number of pods, LeastAvailable the lowest number of available pods.
	MostPods       int `json:"mostPods"`
	LeastAvailable int `json:"leastAvailable"`
	// Passes is how often the controller decided.
	Passes int `json:"passes"`
}

// Seconds is a duration that programs read as a number.
type Seconds time.Duration

// MarshalJSON writes seconds with fractions.
func (s Seconds) MarshalJSON() ([]byte, error) {
	return []byte(strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.3f", time.Duration(s).Seconds()), "0"), ".")), nil
}

func (s Seconds) String() string {
	d := time.Duration(s)
	if d >= time.Second {
		d = d.Round(time.Second)
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Text is the picture for a terminal, or for a pipe if Width is 0.
func (s Simulation) Text(o TextOptions) string { return draw(o, s.lines) }

func (s Simulation) lines(_ fold, limit int) []line {
	if limit <= 0 {
		limit = 100
	}
	lines := []line{{{text: fmt.Sprintf("%s: %s", s.Rollout, s.Strategy)}}, {}}
	for i, m := range s.Moments {
		told := i > 0 && s.Moments[i-1].state() == m.state()
		lines = append(lines, m.lines(limit, told)...)
	}
	lines = append(lines, line{})
	lines = append(lines, s.chart(limit)...)
	lines = append(lines, line{})
	lines = append(lines, s.Summary.lines(limit)...)
	if len(s.Messages) > 0 {
		lines = append(lines, line{}, line{{text: "Messages:"}})
	}
	for _, m := range s.Messages {
		lines = append(lines, m.lines(limit)...)
	}
	for _, w := range s.Warnings {
		for i, text := range folded("warning: "+w, limit-2) {
			if i > 0 {
				text = "  " + text
			}
			lines = append(lines, line{{text: text, color: yellow}})
		}
	}
	return lines
}

// momentIndent is the column where the events of an instant begin.
const momentIndent = 10

// state is the phase and its message.
func (m Moment) state() string { return state(m.Phase, m.Message) }

func state(phase, message string) string {
	if message == "" {
		return phase
	}
	return phase + ": " + message
}

// lines are the lines of the moment. The message of the phase is left out if it was already shown and would take its own
// lines.
func (m Moment) lines(limit int, told bool) []line {
	head := []string{}
	if m.Steps > 0 {
		head = append(head, fmt.Sprintf("step %d/%d", min(m.Step, m.Steps), m.Steps))
	}
	head = append(head, fmt.Sprintf("new %.0f %%", m.Weight))
	for _, v := range m.Versions {
		pods := fmt.Sprintf("%s %d/%d", v.Version, v.Available, v.Wanted)
		if v.Pods != v.Wanted {
			pods += fmt.Sprintf(" (%d exist)", v.Pods)
		}
		head = append(head, pods)
	}
	state, now := m.state(), strings.Join(head, "  ")
	first := line{{text: fmt.Sprintf("%-*s", momentIndent, m.At)}, {text: now}}
	left := limit - momentIndent - width(now) - 2
	if told && width(state) > left {
		state = m.Phase
	}
	fits := width(state) <= left
	if fits {
		first = append(first, span{text: "  "}, span{text: state, color: phaseColor(m.Phase)})
	}
	lines := []line{first}
	add := func(mark, text string, c color) {
		for i, part := range folded(text, limit-momentIndent-4) {
			if i > 0 {
				mark = " "
			}
			lines = append(lines, line{{text: strings.Repeat(" ", momentIndent)}, {text: mark + " ", color: c}, {text: part, color: c}})
		}
	}
	if !fits {
		add("=", state, phaseColor(m.Phase))
	}
	for _, d := range m.Done {
		add("+", d, "")
	}
	if m.Waiting != "" {
		add("…", m.Waiting, faint)
	}
	return lines
}

func phaseColor(phase string) color {
	switch phase {
	case "Healthy":
		return green
	case "Degraded":
		return red
	case "Paused":
		return yellow
	}
	return faint
}

func (p Played) lines(limit int) []line {
	lines := []line{field("Result:", span{text: p.Result() + " after " + p.Duration.String()})}
	for i, part := range folded(state(p.Phase, p.Message), limit-labelWidth) {
		label := ""
		if i == 0 {
			label = "Status:"
		}
		lines = append(lines, field(label, span{text: part, color: phaseColor(p.Phase)}))
	}
	return append(lines,
		field("Most pods:", span{text: fmt.Sprint(p.MostPods)}),
		field("Least capacity:", span{text: fmt.Sprintf("%d available", p.LeastAvailable)}),
	)
}

// Result is how the simulation ends, in words.
func (p Played) Result() string {
	switch {
	case p.Aborted:
		return "aborted"
	case p.Promoted:
		return "promoted"
	case p.Phase == "Healthy":
		return "back on the old version"
	}
	return "not finished"
}

// chartHeight is the height of the chart of pods, in rows of a terminal.
const chartHeight = 8

// chart draws the available pods of the new version, the available pods of others, and the pods that are not available, over
// time.
func (s Simulation) chart(limit int) []line {
	columns := max(20, min(limit, 120)-8)
	end := time.Duration(s.Summary.Duration)
	if end <= 0 || s.Summary.MostPods == 0 || len(s.Moments) == 0 {
		return nil
	}
	top := s.Summary.MostPods
	rows := min(chartHeight, top)
	var lines []line
	for row := rows; row >= 1; row-- {
		label := ""
		if row == rows {
			label = fmt.Sprint(top)
		}
		l := line{{text: fmt.Sprintf("%4s ", label)}}
		for c := range columns {
			at := s.at(time.Duration(float64(end) * float64(c) / float64(columns-1)))
			level := (float64(row) - 0.5) * float64(top) / float64(rows)
			mark, color := at.mark(level)
			l = append(l, span{text: mark, color: color})
		}
		lines = append(lines, l)
	}
	weights := line{{text: "   % "}}
	for c := range columns {
		at := s.at(time.Duration(float64(end) * float64(c) / float64(columns-1)))
		weights = append(weights, span{text: string([]rune(" ▁▂▃▄▅▆▇█")[min(8, int(at.Weight*8/100+0.5))])})
	}
	lines = append(lines, weights)
	right := Seconds(end).String()
	lines = append(lines, line{{text: "     0s" + strings.Repeat(" ", max(1, columns-2-len(right))) + right}})
	legend := line{{text: "     "}, {text: "█", color: green}, {text: " new  "}, {text: "▓", color: cyan}, {text: " others  "}}
	if slices.ContainsFunc(s.Moments, func(m Moment) bool { return m.stack().trial > 0 }) {
		legend = append(legend, span{text: "▒", color: yellow}, span{text: " experiments  "})
	}
	return append(lines,
		append(legend, span{text: "░", color: faint}, span{text: " not available"}),
		line{{text: "   % the new version's share of the traffic"}})
}

// at is the last moment that is not after a time.
func (s Simulation) at(t time.Duration) Moment {
	last := s.Moments[0]
	for _, m := range s.Moments {
		if time.Duration(m.At) > t {
			break
		}
		last = m
	}
	return last
}

// mark is the character at a height of the chart: the new version is at the bottom.
func (m Moment) mark(level float64) (string, color) {
	s := m.stack()
	switch {
	case level <= float64(s.fresh):
		return "█", green
	case level <= float64(s.fresh+s.others):
		return "▓", cyan
	case level <= float64(s.fresh+s.others+s.trial):
		return "▒", yellow
	case level <= float64(s.fresh+s.others+s.trial+s.rest):
		return "░", faint
	}
	return " ", ""
}

// stack is the available pods of the new version, of the others and of Experiments, and the pods that are not available.
type stack struct{ fresh, others, trial, rest int }

func (m Moment) stack() (s stack) {
	for _, v := range m.Versions {
		switch {
		case v.Experiment:
			s.trial += v.Available
		case v.Version == NewVersion:
			s.fresh += v.Available
		default:
			s.others += v.Available
		}
		s.rest += v.Pods - v.Available
	}
	return s
}

// NewVersion is the name of the version that a simulation updates to, OldVersion of the one before.
const (
	NewVersion = "new"
	OldVersion = "old"
)

// folded breaks a text into lines of a given width.
func folded(text string, columns int) []string {
	columns = max(columns, 20)
	var lines []string
	current := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case current == "":
			current = word
		case width(current)+1+width(word) <= columns:
			current += " " + word
		default:
			lines = append(lines, current)
			current = word
		}
	}
	return append(lines, current)
}
