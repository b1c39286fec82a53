package dashboard

import (
	"html/template"
	"time"

	"github.com/sluice-delivery/sluice/internal/view"
)

// outlookData is how an update goes on, on a page that was made at some time.
type outlookData struct {
	*view.Outlook
	Now time.Time
}

// Due is when something happens, or how long after someone has promoted.
func (o outlookData) Due(s view.Stretch, m view.Moment) template.HTML {
	switch {
	case m.At == 0 && s.Promoted:
		return "at once"
	case m.At == 0:
		return "now"
	case s.Promoted:
		return template.HTML("after " + m.At.String()) //nolint:gosec // a number
	}
	return "in " + countdown(o.From.Add(time.Duration(m.At)), o.Now)
}

// Weighted reports whether the share of the traffic is worth a word: a blue-green update switches all of it.
func (o outlookData) Weighted() bool {
	for _, s := range o.Stretches {
		for _, m := range s.Moments {
			if m.Weight != 0 && m.Weight != 100 {
				return true
			}
		}
	}
	return false
}
