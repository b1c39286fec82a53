package dashboard

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/fnv"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/cli/live"
	"github.com/sluice-delivery/sluice/internal/explain"
	"github.com/sluice-delivery/sluice/internal/view"
)

func (s *Server) listPage(w http.ResponseWriter, r *http.Request, id identity) {
	f, err := filterOf(r.URL.Query())
	if err != nil {
		s.refuse(w, r, problem{http.StatusBadRequest, err.Error()})
		return
	}
	s.show(w, r, id, screen{
		title: "Rollouts", template: "list", wants: func(types.NamespacedName) bool { return true },
		draw: func(ctx context.Context) ([]fragment, error) { return s.drawList(ctx, id.person, f) },
	})
}

func (s *Server) drawList(ctx context.Context, p *person, f filter) ([]fragment, error) {
	now, all := s.Clock.Now(), s.rows(ctx, p)
	rows := all
	if f.Mine {
		rows = s.changeable(ctx, p, all)
	}
	data := struct {
		listing
		F       filter
		Root    string
		Now     time.Time
		Synced  bool
		Trouble error
	}{listing: f.page(rows), Root: s.path(), Now: now, Synced: s.cache.Synced(), Trouble: s.cache.Trouble()}
	data.F, data.All = f, len(all)
	list := fragment{ID: "rows", Parts: []part{}}
	for _, r := range data.Rows {
		text, err := s.drawRow(r, now)
		if err != nil {
			return nil, err
		}
		list.Parts = append(list.Parts, part{r.Key(), text})
	}
	fragments := []fragment{list}
	for _, name := range []string{"notice", "filters", "pager"} {
		next, err := s.fragmentOf(name, "list-"+name, data)
		if err != nil {
			return nil, err
		}
		fragments = append(fragments, next)
	}
	return fragments, nil
}

// drawRow is a row of the list, made once for all viewers. The browser keeps its times up to date.
func (s *Server) drawRow(r *row, now time.Time) (template.HTML, error) {
	if last := r.drawn.Load(); last != nil && now.Sub(last.at) < rowAge {
		return last.text, nil
	}
	text, err := s.render("row", struct {
		*row
		Root string
		Now  time.Time
	}{r, s.path(), now})
	if err == nil {
		r.drawn.Store(&drawnRow{now, text})
	}
	return text, err
}

// rowAge is how old the times of a row may be where there is no script: such a page is loaded again as often.
const rowAge = 15 * time.Second

func (s *Server) rolloutPage(w http.ResponseWriter, r *http.Request, id identity) {
	name := named(r)
	if _, ok := s.objects(r.Context(), id.person, name); !ok {
		s.missing(w, r, "rollout", name)
		return
	}
	s.show(w, r, id, screen{
		title: name.Name, template: "rollout", wants: func(changed types.NamespacedName) bool { return changed == name },
		draw: func(ctx context.Context) ([]fragment, error) { return s.drawRollout(ctx, id.person, name) },
	})
}

// rolloutData is what the page of a Rollout shows.
type rolloutData struct {
	view.Rollout
	Root       string
	Now        time.Time
	Paragraphs []explain.Paragraph
	// Unexplained is why there are none.
	Unexplained string
	// Outlook is how the update goes on, OutlookErr why that is not known.
	Outlook    *view.Outlook
	OutlookErr error
	Actions    []action
	Path       []stepRow
	Chart      template.HTML
	Runs       []runData
	// Judged reports whether the spec asks for analyses, for which the page keeps room.
	Judged      bool
	Routes      []routeData
	Events      []eventData
	EventsError error
	Trouble     error
	Containers  []corev1.Container
	// Ends is when the pause in force ends by itself.
	Ends time.Time
}

// Current reports whether a revision is the newest.
func (d rolloutData) Current(number int64) bool {
	return len(d.Revisions) > 0 && d.Revisions[0].Number == number
}

type stepRow struct {
	view.Step
	Number int
	Icon   view.Icon
	// Verdict is how the step went, where it measures: Judged.
	Verdict string
	Judged  bool
}

type eventData struct {
	At                    time.Time
	Reason, Message, Kind string
	Warning               bool
	Count                 int32
}

func (s *Server) drawRollout(ctx context.Context, p *person, name types.NamespacedName) ([]fragment, error) {
	o, ok := s.objects(ctx, p, name)
	if !ok {
		return nil, errors.New("this rollout has been deleted")
	}
	now := s.Clock.Now()
	detail := s.details.of(ctx, p, name, o, stampOf(o))
	d := rolloutData{
		Rollout: view.Of(o, now), Root: s.path(), Now: now, Trouble: s.cache.Trouble(), EventsError: detail.EventsErr,
		Containers: slices.Concat(o.Rollout.Spec.Template.Spec.InitContainers, o.Rollout.Spec.Template.Spec.Containers),
	}
	d.Routes, d.Outlook, d.OutlookErr = detail.Routes, detail.Outlook, detail.OutlookErr
	switch {
	case detail.Explanation != nil:
		d.Paragraphs = detail.Explanation.Paragraphs("sluice")
	case detail.Err != nil:
		d.Unexplained = detail.Err.Error()
	}
	if d.Pause != nil {
		d.Ends = now.Add(d.Pause.Remaining())
	}
	d.Actions = s.actionsOf(ctx, p, o)
	d.Path = stepRows(o, d.Rollout)
	d.Chart = weightChart(s.hub.history(name), now, d.Strategy == view.Canary)
	d.Runs, d.Judged = runsOf(o.AnalysisRuns, o.Rollout), analyzed(&o.Rollout.Spec.Strategy)
	for _, e := range detail.Events {
		d.Events = append(d.Events, eventData{
			At: live.EventTime(e).Time, Reason: e.Reason, Message: e.Message, Kind: e.InvolvedObject.Kind, Warning: e.Type == corev1.EventTypeWarning, Count: max(1, e.Count),
		})
	}
	var fragments []fragment
	for _, name := range []string{"head", "now", "ahead", "steps", "weights", "revisions", "measurements", "routes", "events"} {
		next, err := s.fragmentOf(name, "rollout-"+name, d)
		if err != nil {
			return nil, err
		}
		fragments = append(fragments, next)
	}
	return fragments, nil
}

// stampOf changes whenever one of the objects does.
func stampOf(o view.Objects) string {
	h := fnv.New64a()
	add := func(all ...metav1.Object) {
		for _, object := range all {
			_, _ = h.Write([]byte(object.GetUID() + "/" + types.UID(object.GetResourceVersion()) + "\n")) // never fails
		}
	}
	add(o.Rollout)
	for _, lists := range [][]metav1.Object{objects(o.ReplicaSets), objects(o.Pods), objects(o.Experiments), objects(o.AnalysisRuns)} {
		add(lists...)
	}
	return strconv.FormatUint(h.Sum64(), 36)
}

func objects[T metav1.Object](all []T) []metav1.Object {
	out := make([]metav1.Object, len(all))
	for i := range all {
		out[i] = all[i]
	}
	slices.SortFunc(out, func(a, b metav1.Object) int { return cmp.Compare(a.GetUID(), b.GetUID()) })
	return out
}

// analyzed reports whether a strategy has analyses.
func analyzed(s *v1alpha1.RolloutStrategy) bool {
	if b := s.BlueGreen; b != nil {
		return b.PrePromotionAnalysis != nil || b.PostPromotionAnalysis != nil
	}
	return s.Canary != nil && (s.Canary.Analysis != nil || slices.ContainsFunc(s.Canary.Steps, func(step v1alpha1.CanaryStep) bool { return step.Analysis != nil }))
}

func stepRows(o view.Objects, r view.Rollout) []stepRow {
	rows := make([]stepRow, len(r.Steps))
	for i, step := range r.Steps {
		rows[i] = stepRow{Step: step, Number: i + 1, Icon: view.IconIdle, Judged: o.Rollout.Spec.Strategy.Canary.Steps[i].Analysis != nil}
		switch step.State {
		case view.StepDone:
			rows[i].Icon = view.IconHealthy
		case view.StepCurrent:
			rows[i].Icon = view.IconProgressing
			if r.Status.Icon == view.IconPaused {
				rows[i].Icon = view.IconPaused
			}
		case view.StepAhead:
		}
	}
	for _, run := range o.AnalysisRuns {
		i, err := strconv.Atoi(run.Labels[v1alpha1.StepIndexLabel])
		if err != nil || i < 0 || i >= len(rows) || run.Labels[v1alpha1.PodTemplateHashLabel] != o.Rollout.Status.CurrentPodHash || !metav1.IsControlledBy(run, o.Rollout) {
			continue
		}
		rows[i].Judged = true
		rows[i].Verdict = strings.TrimSpace(string(run.Status.Phase) + " " + run.Status.Message)
		if run.Status.Phase == v1alpha1.AnalysisPhaseFailed || run.Status.Phase == v1alpha1.AnalysisPhaseError {
			rows[i].Icon = view.IconDegraded
		}
	}
	return rows
}

// runData is an AnalysisRun with its measurements.
type runData struct {
	view.AnalysisRun
	Namespace string
	Created   time.Time
	Revision  string
	Metrics   []metricData
}

type metricData struct {
	Name, Provider, Query, Success, Failure, Message string
	Status                                           view.Status
	DryRun, Job                                      bool
	Tally                                            string
	Chart                                            template.HTML
	Measurements                                     []v1alpha1.Measurement
}

// The most that a page shows of analyses; the page of a run shows all of its measurements that the status has.
const (
	runsShown         = 12
	measurementsShown = 5
)

func runsOf(all []*v1alpha1.AnalysisRun, owner metav1.Object) []runData {
	var own []*v1alpha1.AnalysisRun
	for _, run := range all {
		if metav1.IsControlledBy(run, owner) {
			own = append(own, run)
		}
	}
	slices.SortFunc(own, func(a, b *v1alpha1.AnalysisRun) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	var runs []runData
	for _, run := range own[:min(len(own), runsShown)] {
		runs = append(runs, runOf(run, measurementsShown))
	}
	return runs
}

func runOf(run *v1alpha1.AnalysisRun, newest int) runData {
	d := runData{
		AnalysisRun: view.AnalysisRunOf(run, run.CreationTimestamp.Time), Namespace: run.Namespace, Created: run.CreationTimestamp.Time,
		Revision: run.Annotations[v1alpha1.RevisionAnnotation],
	}
	results := map[string]v1alpha1.MetricResult{}
	for _, r := range run.Status.MetricResults {
		results[r.Name] = r
	}
	for i := range run.Spec.Metrics {
		m := &run.Spec.Metrics[i]
		r := results[m.Name]
		one := metricData{
			Name: m.Name, Success: m.SuccessCondition, Failure: m.FailureCondition, Message: r.Message, DryRun: r.DryRun,
			Status: view.AnalysisStatus(r.Phase, r.Message), Tally: view.Tally{Successful: r.Successful, Failed: r.Failed, Inconclusive: r.Inconclusive, Error: r.Error}.String(),
		}
		one.Provider, one.Query = askedOf(m)
		one.Job = m.Provider.Job != nil // which passes or fails, and measures no number
		if i := slices.IndexFunc(d.AnalysisRun.Metrics, func(seen view.Metric) bool { return seen.Name == m.Name }); i >= 0 {
			one.Query = cmp.Or(d.AnalysisRun.Metrics[i].Asked, one.Query)
		}
		one.Chart = metricChart(m.Name, r.Measurements, slices.Concat(limitsOf(m.SuccessCondition), limitsOf(m.FailureCondition)))
		one.Measurements = slices.Clone(r.Measurements[max(0, len(r.Measurements)-newest):])
		slices.Reverse(one.Measurements)
		d.Metrics = append(d.Metrics, one)
	}
	return d
}

// askedOf is who is asked, and what.
func askedOf(m *v1alpha1.Metric) (provider, query string) {
	switch p := m.Provider; {
	case p.Prometheus != nil:
		return "Prometheus", p.Prometheus.Query
	case p.Web != nil:
		return "web", strings.TrimSpace(string(p.Web.Method) + " " + p.Web.URL + " " + p.Web.JSONPath)
	case p.Job != nil:
		return "Job", ""
	case p.Datadog != nil:
		return "Datadog", p.Datadog.Query
	case p.NewRelic != nil:
		return "New Relic", p.NewRelic.Query
	case p.Wavefront != nil:
		return "Wavefront", p.Wavefront.Query
	case p.Graphite != nil:
		return "Graphite", p.Graphite.Query
	case p.Influxdb != nil:
		return "InfluxDB", p.Influxdb.Query
	}
	return strings.Join(m.Provider.Names(), ", "), ""
}

// flash is what an action has to say on the next page. It is signed, so that no link can put words there.
func (s *Server) flash(w http.ResponseWriter, r *http.Request) string {
	c, err := r.Cookie(s.cookie + "-said")
	if err != nil {
		return ""
	}
	http.SetCookie(w, &http.Cookie{Name: c.Name, Path: s.path(), MaxAge: -1, HttpOnly: true, Secure: s.Secure, SameSite: http.SameSiteStrictMode})
	said, signature, _ := strings.Cut(c.Value, ".")
	if !s.guard.signed("said", said, signature) {
		return ""
	}
	words, _ := base64.RawURLEncoding.DecodeString(said) // signed, so it is ours
	return string(words)
}

func (s *Server) say(w http.ResponseWriter, words string) {
	said := text([]byte(words))
	http.SetCookie(w, &http.Cookie{
		Name: s.cookie + "-said", Value: fmt.Sprintf("%s.%s", said, s.guard.sign("said", said)), Path: s.path(), MaxAge: 30, HttpOnly: true, Secure: s.Secure, SameSite: http.SameSiteStrictMode,
	})
}
