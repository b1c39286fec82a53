package view

import (
	"fmt"
	"html/template"
	"strings"
	"time"
)

// HTML is a page that needs nothing else: no script, no font, no other file.
func (s Simulation) HTML() (string, error) {
	var b strings.Builder
	err := simulationPage.Execute(&b, struct {
		Simulation
		Chart template.HTML
	}{s, template.HTML(s.svg())}) //nolint:gosec // numbers and our own words only
	return b.String(), err
}

// The size of the picture, and of the margin for its axes.
const (
	svgWidth, svgHeight = 900, 300
	svgLeft, svgBottom  = 44, 26
)

// svg draws the pods as areas on top of each other, and the share of the traffic as a line.
func (s Simulation) svg() string {
	end, top := time.Duration(s.Summary.Duration), max(1, s.Summary.MostPods)
	if end <= 0 {
		end = time.Second
	}
	x := func(at time.Duration) float64 {
		return svgLeft + (svgWidth-svgLeft-8)*float64(min(at, end))/float64(end)
	}
	y := func(share float64) float64 { return 8 + (svgHeight-svgBottom-8)*(1-share) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" role="img" aria-label="pods and traffic over the time">`, svgWidth, svgHeight)
	area := func(class string, height func(Moment) int) {
		fmt.Fprintf(&b, `<path class="%s" d="M%.1f %.1f`, class, x(0), y(0))
		last := 0.0
		for _, m := range s.Moments {
			at := x(time.Duration(m.At))
			fmt.Fprintf(&b, ` L%.1f %.1f`, at, y(last))
			last = float64(height(m)) / float64(top)
			fmt.Fprintf(&b, ` L%.1f %.1f`, at, y(last))
		}
		fmt.Fprintf(&b, ` L%.1f %.1f L%.1f %.1f Z"/>`, x(end), y(last), x(end), y(0))
	}
	area("rest", func(m Moment) int { f, o, r := m.stack(); return f + o + r })
	area("others", func(m Moment) int { f, o, _ := m.stack(); return f + o })
	area("fresh", func(m Moment) int { f, _, _ := m.stack(); return f })
	b.WriteString(`<polyline class="weight" points="`)
	last := 0.0
	for _, m := range s.Moments {
		at := x(time.Duration(m.At))
		fmt.Fprintf(&b, `%.1f,%.1f %.1f,%.1f `, at, y(last), at, y(m.Weight/100))
		last = m.Weight / 100
	}
	fmt.Fprintf(&b, `%.1f,%.1f"/>`, x(end), y(last))
	for _, tick := range []float64{0, 0.5, 1} {
		fmt.Fprintf(&b, `<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>`, svgLeft, svgWidth-8, y(tick), y(tick))
		fmt.Fprintf(&b, `<text x="%d" y="%.1f" text-anchor="end">%g</text>`, svgLeft-6, y(tick)+4, tick*float64(top))
	}
	for i := range 5 {
		at := end * time.Duration(i) / 4
		anchor := "middle"
		if i == 4 {
			anchor = "end"
		}
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="%s">%s</text>`, x(at), svgHeight-8, anchor, Seconds(at.Round(time.Second)))
	}
	b.WriteString(`</svg>`)
	return b.String()
}

var simulationPage = template.Must(template.New("simulation").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Rollout}}: how the update would go</title>
<style>
:root { color-scheme: light dark; --ink: #1b2330; --paper: #fff; --faint: #68727f; --line: #d9dee5; --fresh: #2f9e5f; --others: #5b8def; --rest: #c9cfd8; --weight: #b4380f; --warn: #8a5a00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --paper: #14181f; --faint: #98a2b0; --line: #323a46; --fresh: #3fbf78; --others: #6f9bff; --rest: #454e5c; --weight: #ff9466; --warn: #e6b450; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; margin: 0 0 .2rem; }
.lead, .key, td.at, .wait { color: var(--faint); }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(10rem, 1fr)); gap: .5rem 1.5rem; margin: 1rem 0; }
.whole { grid-column: 1 / -1; } td { white-space: nowrap; } td:last-child { white-space: normal; }
dt { color: var(--faint); font-size: .85rem; } dd { margin: 0; font-weight: 600; }
svg { width: 100%; height: auto; display: block; }
svg text { fill: var(--faint); font-size: 12px; } svg .grid { stroke: var(--line); stroke-width: 1; }
.fresh { fill: var(--fresh); } .others { fill: var(--others); } .rest { fill: var(--rest); }
.weight { fill: none; stroke: var(--weight); stroke-width: 2.5; }
.key span { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin: 0 .3em 0 1em; vertical-align: -.05em; }
table { border-collapse: collapse; width: 100%; margin: 1.5rem 0; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem .35rem 0; border-bottom: 1px solid var(--line); }
th { font-size: .85rem; color: var(--faint); } ul { margin: 0; padding-left: 1.1rem; } .warning { color: var(--warn); }
</style>
</head>
<body>
<h1>{{.Rollout}}</h1>
<p class="lead">How the update would go ({{.Strategy}}), played by sluice simulate.</p>
<dl>
<div><dt>Result</dt><dd>{{if .Summary.Aborted}}aborted{{else if .Summary.Promoted}}promoted{{else}}not finished{{end}}</dd></div>
<div><dt>Time</dt><dd>{{.Summary.Duration}}</dd></div>
<div><dt>Most pods</dt><dd>{{.Summary.MostPods}}</dd></div>
<div><dt>Least capacity</dt><dd>{{.Summary.LeastAvailable}} available</dd></div>
<div class="whole"><dt>Status</dt><dd>{{.Summary.Phase}}{{with .Summary.Message}}: {{.}}{{end}}</dd></div>
</dl>
{{range .Warnings}}<p class="warning">Warning: {{.}}</p>
{{end}}{{.Chart}}
<p class="key"><span style="background:var(--fresh)"></span>new version<span style="background:var(--others)"></span>other versions<span style="background:var(--rest)"></span>not available<span style="background:var(--weight)"></span>the new version's share of the traffic, of 100 %</p>
<table>
<thead><tr><th>Time</th><th>Step</th><th>New</th><th>Pods</th><th>What happens</th></tr></thead>
<tbody>
{{range .Moments}}<tr><td class="at">{{.At}}</td><td>{{if .Steps}}{{.Step}}/{{.Steps}}{{end}}</td><td>{{printf "%.0f" .Weight}} %</td><td>{{range .Versions}}{{.Version}} {{.Available}}/{{.Wanted}}<br>{{end}}</td><td>{{.Phase}}{{with .Message}}: {{.}}{{end}}{{if .Done}}<ul>{{range .Done}}<li>{{.}}</li>{{end}}</ul>{{end}}{{with .Waiting}}<div class="wait">… {{.}}</div>{{end}}</td></tr>
{{end}}</tbody>
</table>
</body>
</html>
`))
