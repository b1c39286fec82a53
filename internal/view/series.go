package view

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Trial is metrics that are measured again and again, without an AnalysisRun.
type Trial struct{ Series []Series }

// Series is what a metric measured so far.
type Series struct {
	Name string
	// Every is the time between two measurements.
	Every time.Duration
	// Count is how many there were; Points are the last of them.
	Count  int
	Points []Point
	// Status, Value and Asked are those of the last one.
	Status       Status
	Value, Asked string
}

// Point is a measurement. NaN is one that is not a number.
type Point struct {
	Value float64
	Icon  Icon
}

// mostPoints is how many measurements of a series are kept: more than any terminal has columns.
const mostPoints = 1000

// Add adds a measurement.
func (s *Series) Add(value float64, text, asked string, status Status) {
	s.Count++
	s.Value, s.Asked, s.Status = text, asked, status
	s.Points = append(s.Points, Point{Value: value, Icon: status.Icon})
	s.Points = s.Points[max(0, len(s.Points)-mostPoints):]
}

// Text is a chart for each metric. Where they are higher than the terminal they get lower.
func (t Trial) Text(o TextOptions) string {
	return draw(o, func(f fold, limit int) []line {
		rows := map[fold]int{foldNothing: 8, foldOldRevisions: 4, foldSteps: 2}[f]
		var lines []line
		for i, s := range t.Series {
			if i > 0 && f < foldPods {
				lines = append(lines, line{})
			}
			lines = append(lines, s.head())
			if f < foldHeader {
				lines = append(lines, s.details(limit)...)
			}
			lines = append(lines, s.chart(max(rows, 1), limit)...)
		}
		return lines
	})
}

// Unsuccessful is how many metrics were not successful the last time, or were not measured.
func (t Trial) Unsuccessful() int {
	n := 0
	for _, s := range t.Series {
		if s.Status.Icon != IconHealthy {
			n++
		}
	}
	return n
}

// Summary is the last measurement of each metric.
func (t Trial) Summary() string {
	var parts []string
	for _, s := range t.Series {
		if s.Count > 0 {
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s: %s %s", s.Name, s.Status, s.Value)))
		}
	}
	return oneLine(strings.Join(parts, "; "))
}

func (s Series) head() line {
	l := line{{text: s.Name, color: bold}, {text: gap}}
	if s.Count == 0 {
		return append(l, span{text: "being measured", color: faint})
	}
	l = append(l, span{text: s.Status.String(), color: iconColor(s.Status.Icon)}, span{text: gap + s.Value})
	return append(l, span{text: fmt.Sprintf("%s%d × every %s", gap, s.Count, human(s.Every)), color: faint})
}

func (s Series) details(limit int) []line {
	lines := wrapped("  asked", s.Asked, limit)
	return append(lines, wrapped("  message", s.Status.Message, limit)...)
}

// pipeColumns is how many measurements a chart shows where there is no terminal.
const pipeColumns = 60

// chart has a column for each measurement, the last one at the right; the axis has the least and the greatest value.
func (s Series) chart(rows, limit int) []line {
	low, high := s.bounds()
	if math.IsInf(low, 1) {
		return nil
	}
	top, bottom := axisText(high), axisText(low)
	axis := max(width(top), width(bottom))
	columns := pipeColumns
	if limit > 0 {
		columns = max(limit-axis-4, 1)
	}
	points := s.Points[max(0, len(s.Points)-columns):]
	lines := make([]line, rows)
	for row := range rows {
		label := ""
		switch row {
		case 0:
			label = top
		case rows - 1:
			label = bottom
		}
		lines[row] = line{{text: strings.Repeat(" ", 2+axis-width(label)) + label + " ┤", color: faint}}
		for _, p := range points {
			lines[row] = append(lines[row], span{text: bar(p.Value, low, high, rows, row), color: iconColor(p.Icon)})
		}
	}
	return lines
}

// bounds are the least and the greatest number; infinite if there is none.
func (s Series) bounds() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, p := range s.Points {
		if !math.IsNaN(p.Value) && !math.IsInf(p.Value, 0) {
			low, high = min(low, p.Value), max(high, p.Value)
		}
	}
	return low, high
}

func axisText(value float64) string { return strconv.FormatFloat(value, 'g', 4, 64) }

// eighths are bars of a height of one to eight eighths of a line.
var eighths = []string{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}

// bar is the part of a value's bar that is in a row, counted from the top. The least value is as high as one eighth, so that it is seen.
func bar(value, low, high float64, rows, row int) string {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		if row == rows-1 {
			return "·"
		}
		return " "
	}
	all, share := len(eighths)*rows-1, 0.5
	if high > low {
		share = (value/2 - low/2) / (high/2 - low/2) // halves: the difference of two large numbers may be infinite
	}
	height := 1 + int(math.Round(share*float64(all)))
	height -= len(eighths) * (rows - 1 - row)
	if height <= 0 {
		return " "
	}
	return eighths[min(height, len(eighths))-1]
}
