package telemetry

import (
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/buildinfo"
)

// Kind is what a controller works on, as the names of its metrics begin.
type Kind string

// The kinds that have controllers.
const (
	Rollouts     Kind = "rollout"
	AnalysisRuns Kind = "analysis_run"
	Experiments  Kind = "experiment"
)

// Meters count what happens.
type Meters struct {
	perObject bool

	passes   map[Kind]*prometheus.HistogramVec
	failures map[Kind]*prometheus.CounterVec
	reaction *prometheus.HistogramVec
	events   *prometheus.CounterVec
	lost     *prometheus.CounterVec
	requests *prometheus.CounterVec

	duration, progression, manualPause *prometheus.HistogramVec
}

var (
	ofObject = []string{"namespace", "name"}
	// passBuckets are Argo Rollouts' buckets; updateBuckets range from half a minute to eight hours.
	passBuckets   = []float64{0.01, 0.15, 0.25, 0.5, 1}
	updateBuckets = []float64{30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800}
)

// New returns meters that are registered. perObject fills the labels of single objects in, where there would be many series.
func New(to prometheus.Registerer, perObject bool) *Meters {
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &Meters{
		perObject: perObject,
		passes:    map[Kind]*prometheus.HistogramVec{},
		failures:  map[Kind]*prometheus.CounterVec{},
		reaction: histogram("sluice_reaction_seconds", "Time from the news that something changed to the controller's write that answers it.",
			[]float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}, "kind"),
		events: counter("rollout_events_total", "Events told on Rollouts.", "namespace", "name", "type", "reason"),
		lost:   counter("sluice_events_lost_total", "Events that were not published, since too many of the namespace waited or the API server did not take them.", "namespace"),
		requests: counter("controller_clientset_k8s_request_total", "Requests to the Kubernetes API server.",
			"kind", "namespace", "name", "verb", "status_code"),
		duration:    histogram("rollout_duration_seconds", "How long updates took.", updateBuckets, "status"),
		progression: histogram("rollout_progression_duration_seconds", "How long updates took, without the time that they waited for a person.", updateBuckets, "status"),
		manualPause: histogram("rollout_manual_pause_duration_seconds", "How long updates waited for a person.", updateBuckets, "status"),
	}
	collectors := []prometheus.Collector{m.reaction, m.events, m.lost, m.requests, m.duration, m.progression, m.manualPause}
	for _, kind := range []Kind{Rollouts, AnalysisRuns, Experiments} {
		m.passes[kind] = histogram(string(kind)+"_reconcile", "Time of one pass over one object.", passBuckets, ofObject...)
		m.failures[kind] = counter(string(kind)+"_reconcile_error", "Passes that ended in an error.", ofObject...)
		collectors = append(collectors, m.passes[kind], m.failures[kind])
	}
	collectors = append(collectors, builds()...)
	to.MustRegister(collectors...)
	return m
}

// builds is the build information, under Argo Rollouts' name and under the usual one.
func builds() []prometheus.Collector {
	var all []prometheus.Collector
	for _, name := range []string{"argo_rollouts_controller_info", "build_info"} {
		info := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: "Which controller this is."},
			[]string{"version", "goversion", "goarch"})
		info.WithLabelValues(buildinfo.Version(), runtime.Version(), runtime.GOARCH).Set(1)
		all = append(all, info)
	}
	return all
}

// labels are an object's where single objects are told apart, and empty elsewhere.
func (m *Meters) labels(key types.NamespacedName) (namespace, name string) {
	if !m.perObject {
		return "", ""
	}
	return key.Namespace, key.Name
}

// Pass counts one pass.
func (m *Meters) Pass(kind Kind, key types.NamespacedName, took time.Duration, err error) {
	m.passes[kind].WithLabelValues(m.labelsOf(key)...).Observe(took.Seconds())
	if err != nil {
		m.failures[kind].WithLabelValues(key.Namespace, key.Name).Inc()
	}
}

func (m *Meters) labelsOf(key types.NamespacedName) []string {
	namespace, name := m.labels(key)
	return []string{namespace, name}
}

// Reacted counts an answer to news.
func (m *Meters) Reacted(kind Kind, after time.Duration) {
	m.reaction.WithLabelValues(string(kind)).Observe(after.Seconds())
}

// Told counts an event.
func (m *Meters) Told(e *corev1.Event) {
	if e.InvolvedObject.Kind == v1alpha1.KindRollout {
		m.events.WithLabelValues(e.InvolvedObject.Namespace, e.InvolvedObject.Name, e.Type, e.Reason).Inc()
	}
}

// LostEvent counts an event that was not published.
func (m *Meters) LostEvent(e *corev1.Event) { m.lost.WithLabelValues(e.InvolvedObject.Namespace).Inc() }

// Updated counts the update that ended between two statuses, if one did: as the later status says, or because the clock of another one has
// begun meanwhile.
func (m *Meters) Updated(was, is *v1alpha1.RolloutStatus) {
	d := is.Duration
	if superseded(was, is) {
		m.ended(was.Duration, d.RolloutStartedAt.Time, v1alpha1.CompletionSuperseded)
		was = &v1alpha1.RolloutStatus{}
	}
	if d == nil || d.FinishedAt == nil || d.RolloutStartedAt == nil || was.Duration != nil && was.Duration.FinishedAt != nil && was.Duration.RolloutStartedAt.Equal(d.RolloutStartedAt) {
		return
	}
	m.ended(d, d.FinishedAt.Time, d.CompletionStatus)
}

// superseded reports whether the clock of an update was running and that of another one has begun. Within one second both began at the same
// time; one that goes on for the way back says so.
func superseded(was, is *v1alpha1.RolloutStatus) bool {
	before, after := was.Duration, is.Duration
	if before == nil || before.FinishedAt != nil || before.RolloutStartedAt == nil || after == nil || after.RolloutStartedAt == nil {
		return false
	}
	return !before.RolloutStartedAt.Equal(after.RolloutStartedAt) || was.CurrentPodHash != is.CurrentPodHash && after.CompletionStatus == ""
}

// ended counts an update that ended at a time.
func (m *Meters) ended(d *v1alpha1.RolloutDuration, at time.Time, how v1alpha1.CompletionStatus) {
	var paused time.Duration
	if d.TotalManualPauseDurationSeconds != nil {
		paused = time.Duration(*d.TotalManualPauseDurationSeconds) * time.Second
	}
	if d.ManualPauseStartedAt != nil {
		paused += at.Sub(d.ManualPauseStartedAt.Time)
	}
	took := at.Sub(d.RolloutStartedAt.Time)
	status := string(how)
	m.duration.WithLabelValues(status).Observe(took.Seconds())
	m.progression.WithLabelValues(status).Observe(max(0, took-paused).Seconds())
	m.manualPause.WithLabelValues(status).Observe(paused.Seconds())
}

// Forget drops the series of an object that is gone.
func (m *Meters) Forget(kind Kind, key types.NamespacedName) {
	labels := prometheus.Labels{"namespace": key.Namespace, "name": key.Name}
	m.passes[kind].DeletePartialMatch(labels)
	m.failures[kind].DeletePartialMatch(labels)
	if kind == Rollouts {
		m.events.DeletePartialMatch(labels)
	}
}
