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
	// Held: pods do not start, so nobody knows when it goes on.
	Held bool
}

// Ahead is how the update goes on.
func (d rolloutData) Ahead() outlookData {
	return outlookData{d.Outlook, d.Now, stuck(d.Rollout)}
}

// stuck reports whether a pod has a trouble that does not go away by itself.
func stuck(r view.Rollout) bool {
	for _, rs := range r.ReplicaSets() {
		for _, p := range rs.Pods {
			if p.Status.Icon == view.IconDegraded || p.Status.Icon == view.IconWarning {
				return true
			}
		}
	}
	return false
}

// Due is when something happens, or how long after someone has done what it waits for.
func (o outlookData) Due(s view.Stretch, m view.Moment) template.HTML {
	switch open := s.Promoted || o.Held; {
	case m.At == 0 && open:
		return "at once"
	case m.At == 0:
		return "now"
	case open:
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
