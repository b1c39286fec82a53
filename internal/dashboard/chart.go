package dashboard

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// The sizes of charts, in their own units.
const (
	chartWidth  = 640.0
	chartHeight = 168.0
	chartLeft   = 42.0
	chartRight  = 34.0
	chartTop    = 8.0
	chartBottom = 20.0
)

// weightChart draws how weight and pods were since this process began to watch. Everything in it is a number or a word of ours.
func weightChart(points []point, now time.Time, canary bool) template.HTML {
	if len(points) == 0 {
		return ""
	}
	from := points[0].at
	if now.Sub(from) < time.Minute {
		from = now.Add(-time.Minute)
	}
	most := int32(1)
	for _, p := range points {
		most = max(most, p.stable+p.canary)
	}
	x := func(at time.Time) float64 {
		return chartLeft + (chartWidth-chartLeft-chartRight)*max(0, float64(at.Sub(from)))/float64(now.Sub(from))
	}
	y := func(share float64) float64 {
		return chartTop + (chartHeight-chartTop-chartBottom)*(1-min(1, max(0, share)))
	}
	var b strings.Builder
	last := points[len(points)-1]
	label := fmt.Sprintf("Pods: %d stable, %d new.", last.stable, last.canary)
	if canary {
		label = fmt.Sprintf("Weight of the new version: %d %%. %s", last.actualWeight, label)
	}
	fmt.Fprintf(&b, `<svg class="chart" viewBox="0 0 %.0f %.0f" role="img" aria-label="%s">`, chartWidth, chartHeight, html.EscapeString(label))
	for _, share := range []float64{0, .5, 1} {
		fmt.Fprintf(&b, `<line class="grid" x1="%.0f" x2="%.0f" y1="%.1f" y2="%.1f"/>`, chartLeft, chartWidth-chartRight, y(share), y(share))
		if canary {
			fmt.Fprintf(&b, `<text x="%.0f" y="%.1f" text-anchor="end">%.0f%%</text>`, chartLeft-5, y(share)+4, share*100)
		}
	}
	fmt.Fprintf(&b, `<text x="%.0f" y="%.1f">%d</text><text x="%.0f" y="%.1f">0</text>`, chartWidth-chartRight+5, y(1)+4, most, chartWidth-chartRight+5, y(0)+4)
	area := func(class string, low, high func(point) int32) {
		fmt.Fprintf(&b, `<path class="%s" d="`, class)
		steps(&b, points, now, x, func(p point) float64 { return y(float64(high(p)) / float64(most)) }, "M")
		back := make([]point, 0, len(points))
		for i := len(points) - 1; i >= 0; i-- {
			back = append(back, points[i])
		}
		end := now
		for _, p := range back {
			v := y(float64(low(p)) / float64(most))
			fmt.Fprintf(&b, "L%.1f %.1fL%.1f %.1f", x(end), v, x(p.at), v)
			end = p.at
		}
		b.WriteString(`Z"/>`)
	}
	area("pods-stable", func(point) int32 { return 0 }, func(p point) int32 { return p.stable })
	area("pods-new", func(p point) int32 { return p.stable }, func(p point) int32 { return p.stable + p.canary })
	if canary {
		for _, line := range []struct {
			class string
			of    func(point) int32
		}{{"weight-set", func(p point) int32 { return p.setWeight }}, {"weight", func(p point) int32 { return p.actualWeight }}} {
			fmt.Fprintf(&b, `<path class="%s" d="`, line.class)
			steps(&b, points, now, x, func(p point) float64 { return y(float64(line.of(p)) / 100) }, "M")
			b.WriteString(`"/>`)
		}
	}
	fmt.Fprintf(&b, `<text x="%.0f" y="%.0f">%s ago</text><text x="%.0f" y="%.0f" text-anchor="end">now</text></svg>`,
		chartLeft, chartHeight-4, short(now.Sub(from)), chartWidth-chartRight, chartHeight-4)
	return template.HTML(b.String()) //nolint:gosec // numbers and words of ours
}

// steps writes a line that keeps each value until the next one.
func steps(b *strings.Builder, points []point, now time.Time, x func(time.Time) float64, y func(point) float64, begin string) {
	for i, p := range points {
		until := now
		if i+1 < len(points) {
			until = points[i+1].at
		}
		fmt.Fprintf(b, "%s%.1f %.1fL%.1f %.1f", begin, x(p.at), y(p), x(until), y(p))
		begin = "L"
	}
}

func short(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	return fmt.Sprintf("%.0f h", d.Hours())
}

// limit is a value that a condition compares a result with.
type limit struct {
	Value float64
	Text  string
}

var comparison = regexp.MustCompile(`(?:result|result\[0\]|asFloat\(result\)|asFloat\(result\[0\]\))\s*(<=|>=|<|>|==)\s*(-?[0-9]+(?:\.[0-9]+)?)`)

// limitsOf are the limits that a line can show. A condition of another form has none; its text is shown all the same.
func limitsOf(condition string) []limit {
	var limits []limit
	for _, m := range comparison.FindAllStringSubmatch(condition, 4) {
		if v, err := strconv.ParseFloat(m[2], 64); err == nil {
			limits = append(limits, limit{Value: v, Text: m[1] + " " + m[2]})
		}
	}
	return limits
}

// numberOf is the number that was measured. Prometheus answers with a list of one.
func numberOf(value string) (float64, bool) {
	v, err := strconv.ParseFloat(strings.Trim(strings.TrimSpace(value), "[]"), 64)
	return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}

const (
	metricWidth  = 320.0
	metricHeight = 72.0
	metricPoints = 60
)

// metricChart draws measurements and the limits they are held to; nothing where they are no numbers.
func metricChart(name string, measurements []v1alpha1.Measurement, limits []limit) template.HTML {
	if n := len(measurements); n > metricPoints {
		measurements = measurements[n-metricPoints:]
	}
	low, high, count := math.Inf(1), math.Inf(-1), 0
	for _, m := range measurements {
		if v, ok := numberOf(m.Value); ok {
			low, high, count = min(low, v), max(high, v), count+1
		}
	}
	if count == 0 {
		return ""
	}
	for _, l := range limits {
		low, high = min(low, l.Value), max(high, l.Value)
	}
	if high-low < 1e-9 {
		low, high = low-1, high+1
	}
	gap := (high - low) * .12
	low, high = low-gap, high+gap
	y := func(v float64) float64 { return 4 + (metricHeight-8)*(1-(v-low)/(high-low)) }
	x := func(i int) float64 { return 8 + (metricWidth-64)*float64(i)/float64(max(1, len(measurements)-1)) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="chart metric" viewBox="0 0 %.0f %.0f" role="img" aria-label="%s">`, metricWidth, metricHeight,
		html.EscapeString(fmt.Sprintf("%d measurements of %s", len(measurements), name)))
	for _, l := range limits {
		fmt.Fprintf(&b, `<line class="limit" x1="0" x2="%.0f" y1="%.1f" y2="%.1f"/><text x="%.0f" y="%.1f">%s</text>`,
			metricWidth-50, y(l.Value), y(l.Value), metricWidth-46, y(l.Value)+4, html.EscapeString(l.Text))
	}
	line, begin := "", "M"
	for i, m := range measurements {
		if v, ok := numberOf(m.Value); ok {
			line += fmt.Sprintf("%s%.1f %.1f", begin, x(i), y(v))
			begin = "L"
		}
	}
	fmt.Fprintf(&b, `<path class="line" d="%s"/>`, line)
	for i, m := range measurements {
		v, ok := numberOf(m.Value)
		if !ok {
			continue
		}
		title := html.EscapeString(fmt.Sprintf("%s: %s", m.Value, m.Phase))
		if m.Phase == v1alpha1.AnalysisPhaseSuccessful {
			fmt.Fprintf(&b, `<circle class="good" cx="%.1f" cy="%.1f" r="3"><title>%s</title></circle>`, x(i), y(v), title)
			continue
		}
		// A cross, for those who do not tell red from green.
		fmt.Fprintf(&b, `<path class="bad" d="M%.1f %.1fl6 6m0 -6l-6 6"><title>%s</title></path>`, x(i)-3, y(v)-3, title)
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String()) //nolint:gosec // texts in it are escaped
}
