package view

import (
	"html/template"
	"strings"

	"github.com/sluice-delivery/sluice/internal/clean"
)

// HTML is a self-contained page: no script, no font, no other file.
func (s Simulation) HTML() (string, error) {
	var b strings.Builder
	err := simulationPage.Execute(&b, struct {
		Simulation
		Chart  template.HTML
		Colors template.CSS
		Result string
	}{s, template.HTML(s.picture().inline()), pictureColors, s.Summary.Result()}) //nolint:gosec // all texts in it are escaped
	return clean.Text(b.String()), err
}

var simulationPage = template.Must(template.New("simulation").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Rollout}}: how the update would go</title>
<style>
{{.Colors}}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; margin: 0 0 .2rem; }
.lead, td.at, .wait { color: var(--faint); }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(10rem, 1fr)); gap: .5rem 1.5rem; margin: 1rem 0; }
.whole { grid-column: 1 / -1; } td { white-space: nowrap; } td:last-child { white-space: normal; }
dt { color: var(--faint); font-size: .85rem; } dd { margin: 0; font-weight: 600; }
svg { width: 100%; height: auto; display: block; }
table { border-collapse: collapse; width: 100%; margin: 1.5rem 0; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem .35rem 0; border-bottom: 1px solid var(--line); }
th { font-size: .85rem; color: var(--faint); } ul { margin: 0; padding-left: 1.1rem; } .warning { color: var(--warn); }
@media (max-width: 40rem) { /* what happens stands below the rest of its row */
  thead { display: none; } tr { display: grid; grid-template-columns: 4rem 3rem 4rem 1fr; border-bottom: 1px solid var(--line); }
  td { border: 0; } td:last-child { grid-column: 1 / -1; padding-top: 0; }
}
</style>
</head>
<body>
<h1>{{.Rollout}}</h1>
<p class="lead">How the update would go ({{.Strategy}}), played by sluice simulate.</p>
<dl>
<div><dt>Result</dt><dd>{{.Result}}</dd></div>
<div><dt>Time</dt><dd>{{.Summary.Duration}}</dd></div>
<div><dt>Most pods</dt><dd>{{.Summary.MostPods}}</dd></div>
<div><dt>Least capacity</dt><dd>{{.Summary.LeastAvailable}} available</dd></div>
<div class="whole"><dt>Status</dt><dd>{{.Summary.Phase}}{{with .Summary.Message}}: {{.}}{{end}}</dd></div>
</dl>
{{range .Warnings}}<p class="warning">Warning: {{.}}</p>
{{end}}{{.Chart}}
<table>
<thead><tr><th>Time</th><th>Step</th><th>New</th><th>Pods</th><th>What happens</th></tr></thead>
<tbody>
{{range .Moments}}<tr><td class="at">{{.At}}</td><td>{{if .Steps}}{{.Step}}/{{.Steps}}{{end}}</td><td>{{printf "%.0f" .Weight}} %</td><td>{{range .Versions}}{{.Version}} {{.Available}}/{{.Wanted}}<br>{{end}}</td><td>{{.Phase}}{{with .Message}}: {{.}}{{end}}{{if .Done}}<ul>{{range .Done}}<li>{{.}}</li>{{end}}</ul>{{end}}{{with .Waiting}}<div class="wait">… {{.}}</div>{{end}}</td></tr>
{{end}}</tbody>
</table>
</body>
</html>
`))
