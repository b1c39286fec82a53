package dashboard

import (
	"cmp"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/view"
)

// row is a Rollout in the list.
type row struct {
	view.Rollout
	Created time.Time
	labels  labels.Set
	// Waits is true while the update waits for a person.
	Waits bool
	point point
	// seen is when the row was made.
	seen time.Time
	// drawn is what it looked like last.
	drawn atomic.Pointer[drawnRow]
}

// drawnRow is a row as the page has it, at a moment.
type drawnRow struct {
	at   time.Time
	text template.HTML
}

func rowOf(o view.Objects, now time.Time) *row {
	r := &row{Rollout: view.Of(o, now), Created: o.Rollout.CreationTimestamp.Time, labels: o.Rollout.Labels, seen: now}
	r.Waits = waitsForPerson(o.Rollout, r.Rollout)
	r.point = point{setWeight: r.SetWeight, actualWeight: r.ActualWeight, available: r.Replicas.Available}
	for _, rs := range r.ReplicaSets() {
		switch {
		case slices.Contains(rs.Tags, view.TagStable), slices.Contains(rs.Tags, view.TagActive):
			r.point.stable += rs.Available
		case slices.Contains(rs.Tags, view.TagCanary), slices.Contains(rs.Tags, view.TagPreview):
			r.point.canary += rs.Available
		}
	}
	r.Revisions = nil // a thousand rows need no pods
	return r
}

// waitsForPerson: nothing happens until a user promotes, decides, or repairs.
func waitsForPerson(ro *v1alpha1.Rollout, r view.Rollout) bool {
	return r.Status.Text == string(v1alpha1.RolloutPhasePaused) && r.Pause == nil || r.Status.Text == string(v1alpha1.RolloutPhaseDegraded) || ro.Spec.Paused
}

// Percent is how much of the update is done.
func (r *row) Percent() int {
	if len(r.Steps) == 0 {
		return 0
	}
	return 100 * r.StepsDone / len(r.Steps)
}

// Position is the current step, such as "2 / 5".
func (r *row) Position() string {
	if len(r.Steps) == 0 {
		return ""
	}
	return fmt.Sprintf("%d / %d", r.StepsDone, len(r.Steps))
}

// Key names the row in a page.
func (r *row) Key() string { return "row-" + r.Namespace + "-" + r.Name }

// filter is what of the list is shown. It is in the URL, so that links can be shared.
type filter struct {
	Name, Namespace, Label, Strategy, Phase, Sort string
	Waits, Mine                                   bool
	Page, Size                                    int
}

// The sizes of a page.
const (
	pageSize    = 50
	maxPageSize = 200
)

func filterOf(q url.Values) (filter, error) {
	f := filter{
		Name: q.Get("name"), Namespace: q.Get("namespace"), Label: q.Get("label"), Strategy: q.Get("strategy"),
		Phase: q.Get("phase"), Sort: q.Get("sort"), Waits: q.Get("waits") != "", Mine: q.Get("mine") != "", Page: 1, Size: pageSize,
	}
	for name, into := range map[string]*int{"page": &f.Page, "size": &f.Size} {
		if text := q.Get(name); text != "" {
			if _, err := fmt.Sscanf(text, "%d", into); err != nil || *into < 1 {
				return f, fmt.Errorf("%s=%q must be a number from 1", name, text)
			}
		}
	}
	f.Size = min(f.Size, maxPageSize)
	if _, err := labels.Parse(f.Label); err != nil {
		return f, fmt.Errorf("label=%q must be a label selector, such as team=shop: %w", f.Label, err)
	}
	return f, nil
}

// Query is the filter in a URL.
func (f filter) Query() string {
	q := url.Values{}
	for name, value := range map[string]string{"name": f.Name, "namespace": f.Namespace, "label": f.Label, "strategy": f.Strategy, "phase": f.Phase, "sort": f.Sort} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.Waits {
		q.Set("waits", "1")
	}
	if f.Mine {
		q.Set("mine", "1")
	}
	if f.Page > 1 {
		q.Set("page", fmt.Sprint(f.Page))
	}
	if f.Size != pageSize {
		q.Set("size", fmt.Sprint(f.Size))
	}
	if len(q) == 0 {
		return "?"
	}
	return "?" + q.Encode()
}

// WithPhase is the filter for a phase, or for all where it is that already.
func (f filter) WithPhase(phase string) filter {
	if f.Phase == phase {
		phase = ""
	}
	f.Phase, f.Page = phase, 1
	return f
}

// WithWaits is the filter for what waits for a person, or for all.
func (f filter) WithWaits() filter {
	f.Waits, f.Page = !f.Waits, 1
	return f
}

// WithMine is the filter for what the viewer may change, or for all.
func (f filter) WithMine() filter {
	f.Mine, f.Page = !f.Mine, 1
	return f
}

// WithPage is another page.
func (f filter) WithPage(n int) filter {
	f.Page = n
	return f
}

// listing is a page of the list.
type listing struct {
	Rows         []*row
	Total, Pages int
	Phases       []phaseCount
	Waiting, All int
	Namespaces   []string
}

type phaseCount struct {
	Phase string
	Icon  view.Icon
	Count int
}

var phases = []phaseCount{
	{Phase: "Progressing", Icon: view.IconProgressing},
	{Phase: "Paused", Icon: view.IconPaused},
	{Phase: "Degraded", Icon: view.IconDegraded},
	{Phase: "Healthy", Icon: view.IconHealthy},
}

// page is what a filter leaves of the rows. Phases are counted without the filter's own phase, so that one sees what there is to choose.
func (f *filter) page(all []*row) listing {
	l := listing{All: len(all), Phases: slices.Clone(phases)}
	selector, _ := labels.Parse(f.Label) // checked by filterOf
	namespaces := map[string]bool{}
	var rows []*row
	for _, r := range all {
		namespaces[r.Namespace] = true
		if !f.matches(r, selector) {
			continue
		}
		for i := range l.Phases {
			if l.Phases[i].Phase == r.Status.Text {
				l.Phases[i].Count++
			}
		}
		if r.Waits {
			l.Waiting++
		}
		if (f.Phase == "" || f.Phase == r.Status.Text) && (!f.Waits || r.Waits) {
			rows = append(rows, r)
		}
	}
	for n := range namespaces {
		l.Namespaces = append(l.Namespaces, n)
	}
	slices.Sort(l.Namespaces)
	f.order(rows)
	l.Total = len(rows)
	l.Pages = max(1, (l.Total+f.Size-1)/f.Size)
	f.Page = min(f.Page, l.Pages)
	from := (f.Page - 1) * f.Size
	l.Rows = rows[from:min(l.Total, from+f.Size)]
	return l
}

func (f *filter) matches(r *row, selector labels.Selector) bool {
	return (f.Namespace == "" || f.Namespace == r.Namespace) &&
		(f.Strategy == "" || strings.EqualFold(f.Strategy, string(r.Strategy))) &&
		strings.Contains(strings.ToLower(r.Namespace+"/"+r.Name), strings.ToLower(f.Name)) &&
		selector.Matches(r.labels)
}

// urgency puts what needs a person first, then what moves.
func urgency(r *row) int {
	switch r.Status.Text {
	case "Degraded":
		return 0
	case "Paused":
		return 1
	case "Progressing":
		return 2
	}
	return 3
}

func (f *filter) order(rows []*row) {
	switch f.Sort {
	case "name":
	case "age":
		slices.SortStableFunc(rows, func(a, b *row) int { return b.Created.Compare(a.Created) })
	default:
		slices.SortStableFunc(rows, func(a, b *row) int { return cmp.Compare(urgency(a), urgency(b)) })
	}
}

// Percent32 is Percent for a bar.
func (r *row) Percent32() int32 { return int32(r.Percent()) } //nolint:gosec // at most 100

// PauseEnds is when the pause in force ends by itself.
func (r *row) PauseEnds() time.Time { return r.seen.Add(r.Pause.Remaining()) }
