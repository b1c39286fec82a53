//go:build linux

package main

import (
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"os"
	"time"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// row of the report's table of versions.
type row struct {
	Version     string
	Good, Bad   int
	First, Last string
}

// write writes the report: one HTML file, with nothing to load.
func (d *demo) write(file string) error {
	total, f := d.ledger.Total(), d.ledger.Failures(showBad)
	data := struct {
		Rate, Sum, Lost, Bad int
		Share, Seconds, For  string
		Latency              []string
		BadVersion           string
		Chart                template.HTML
		Rows                 []row
		Moments              []string
		Reasons              map[string]int
	}{
		Rate: showRate, Sum: total.Sum(), Lost: total.Lost, Bad: f.Count, BadVersion: showBad,
		Share:   fmt.Sprintf("%.2f", 100*float64(f.Count)/float64(max(1, total.Sum()))),
		Seconds: fmt.Sprintf("%.0f", d.ended.Sub(d.began).Seconds()), For: fmt.Sprintf("%.1f", f.For().Seconds()),
		Chart:   template.HTML(d.chart()), //nolint:gosec // made of numbers and our own words
		Reasons: d.ledger.Reasons(),
	}
	for _, q := range []float64{0.5, 0.9, 0.99} {
		data.Latency = append(data.Latency, fmt.Sprintf("p%.0f %s", q*100, d.ledger.Latency(q).Round(100*time.Microsecond)))
	}
	for _, m := range d.moments {
		data.Moments = append(data.Moments, fmt.Sprintf("%5.1f s: %s", m.At.Sub(d.began).Seconds(), m.What))
	}
	for _, version := range d.versions() {
		data.Rows = append(data.Rows, d.row(version))
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(page.Execute(out, data), out.Close())
}

func (d *demo) row(version string) row {
	r := row{Version: version}
	for second := range d.ledger.At(d.ended) + 1 {
		c := d.ledger.Second(second)[version]
		if c.Sum() == 0 {
			continue
		}
		if r.First == "" {
			r.First = fmt.Sprintf("%d s", second)
		}
		r.Last = fmt.Sprintf("%d s", second)
		r.Good, r.Bad = r.Good+c.Good, r.Bad+c.Bad
	}
	return r
}
