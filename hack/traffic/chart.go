//go:build linux

package main

import (
	"fmt"
	"html"
	"strings"
)

// Size of the chart, in pixels: the area of the requests, and that of the errors below it.
const (
	chartWidth, chartHeight = 880, 324
	chartLeft, chartRight   = 62, 868
	chartTop, chartBottom   = 54, 224
	errorsTop, errorsBottom = 240, 280
	errorsFull              = 10 // errors in a second that fill their area
	axisLabel, labelRows    = 16, 3
)

// palette has colors that color-blind people can tell apart (Okabe and Ito).
var palette = []string{"#56B4E9", "#009E73", "#E69F00"}

// chart is who answered in each second, and what went wrong, as SVG.
func (d *demo) chart() string {
	from, to := 0, d.ledger.At(d.ended)
	x := func(second float64) float64 {
		return chartLeft + (chartRight-chartLeft)*(second-float64(from))/float64(max(1, to-from))
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" font-family="system-ui, sans-serif" font-size="12">`+"\n",
		chartWidth, chartHeight, chartWidth, chartHeight)
	total, f := d.ledger.Total(), d.ledger.Failures(showBad)
	fmt.Fprintf(&b, "<title>%d requests during two updates: %d lost, and %d errors of a bad version until it was taken back after %.1f s</title>\n",
		total.Sum(), total.Lost, f.Count, f.For().Seconds())
	b.WriteString(`<style>text{fill:#333}.axis{stroke:#999}.moment{stroke:#555;stroke-dasharray:3 3}@media (prefers-color-scheme:dark){text{fill:#ddd}.moment{stroke:#bbb}}</style>` + "\n")
	d.areas(&b, to, x)
	d.errors(&b, to, x)
	fmt.Fprintf(&b, `<path class="axis" fill="none" d="M%d %dV%dH%dM%d %dV%dH%d"/>`+"\n", chartLeft, chartTop, chartBottom, chartRight, chartLeft, errorsTop, errorsBottom, chartRight)
	for _, t := range []struct {
		y    int
		text string
	}{{chartTop + 4, fmt.Sprint(showRate)}, {chartBottom, "0"}, {errorsTop + 4, fmt.Sprint(errorsFull)}, {errorsBottom, "0"}} {
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", chartLeft-5, t.y, t.text)
	}
	fmt.Fprintf(&b, `<text transform="rotate(-90)" x="-%d" y="14" text-anchor="middle">requests/s</text>`+"\n", (chartTop+chartBottom)/2)
	fmt.Fprintf(&b, `<text transform="rotate(-90)" x="-%d" y="14" text-anchor="middle">errors/s</text>`+"\n", (errorsTop+errorsBottom)/2)
	for second := 0; second <= to; second += 10 {
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%d s</text>`+"\n", x(float64(second)), errorsBottom+axisLabel, second)
	}
	d.labels(&b, x)
	b.WriteString("</svg>\n")
	return b.String()
}

// areas are the answers of each version, one upon the other.
func (d *demo) areas(b *strings.Builder, to int, x func(float64) float64) {
	below := make([]int, to)
	high := func(n int) float64 {
		return chartBottom - float64(chartBottom-chartTop)*min(1, float64(n)/showRate)
	}
	for i, version := range d.versions() {
		var over, under []string
		for second := range to {
			n := d.ledger.Second(second)[version].Sum()
			l, r := x(float64(second)), x(float64(second+1))
			over = append(over, fmt.Sprintf("%.1f %.1f %.1f %.1f", l, high(below[second]+n), r, high(below[second]+n)))
			under = append(under, fmt.Sprintf("%.1f %.1f %.1f %.1f", r, high(below[second]), l, high(below[second])))
			below[second] += n
		}
		for l, r := 0, len(under)-1; l < r; l, r = l+1, r-1 {
			under[l], under[r] = under[r], under[l]
		}
		fmt.Fprintf(b, `<polygon fill="%s" points="%s %s"/>`+"\n", palette[i], strings.Join(over, " "), strings.Join(under, " "))
		fmt.Fprintf(b, `<rect x="%d" y="%d" width="10" height="10" fill="%s"/><text x="%d" y="%d">%s</text>`+"\n",
			chartLeft+90*i, chartHeight-14, palette[i], chartLeft+90*i+15, chartHeight-5, version)
	}
}

// errors are the bad answers and the lost requests of each second.
func (d *demo) errors(b *strings.Builder, to int, x func(float64) float64) {
	for second := range to {
		n := 0
		for _, c := range d.ledger.Second(second) {
			n += c.Bad + c.Lost
		}
		if n == 0 {
			continue
		}
		height := float64(errorsBottom-errorsTop) * min(1, float64(n)/errorsFull)
		fmt.Fprintf(b, `<rect fill="#D55E00" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`+"\n",
			x(float64(second)), errorsBottom-height, x(float64(second+1))-x(float64(second)), height)
	}
}

// labels say what happened, and when; neighbors are written in turn into two rows.
func (d *demo) labels(b *strings.Builder, x func(float64) float64) {
	for i, m := range d.moments {
		at := x(m.At.Sub(d.began).Seconds())
		y := 12 + 15*(i%labelRows)
		anchor := "start"
		if at > chartRight-120 {
			anchor = "end"
		}
		fmt.Fprintf(b, `<path class="moment" d="M%.1f %dV%d"/><text x="%.1f" y="%d" text-anchor="%s">%s</text>`+"\n", at, y+3, errorsBottom, at, y, anchor, html.EscapeString(m.What))
	}
}
