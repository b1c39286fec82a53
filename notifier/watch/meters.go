package watch

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/notifier/dora"
)

// meters are Argo Rollouts' metrics of notifications, and those of deliveries.
type meters struct {
	perObject        bool
	success, failure *prometheus.CounterVec
	duration         *prometheus.HistogramVec
	deployments      *prometheus.CounterVec
	lead, recovery   *prometheus.HistogramVec
}

const (
	hour = 3600
	day  = 24 * hour
)

func newMeters(to prometheus.Registerer, perObject bool, waiting func() int) *meters {
	labels := []string{"namespace", "name", "type", "reason"}
	m := &meters{
		perObject: perObject,
		success:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "notification_send_success", Help: "Messages that were sent."}, labels),
		failure:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "notification_send_error", Help: "Messages that were dropped."}, labels),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "notification_send", Help: "How long attempts to send a message took.", Buckets: []float64{0.01, 0.15, 0.25, 0.5, 1, 5, 30},
		}, labels[:2]),
	}
	depth := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sluice_notifications_waiting", Help: "Messages that wait or are being sent."},
		func() float64 { return float64(waiting()) })
	m.deployments = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sluice_deployments_total", Help: "Updates that ended. The result is succeeded, aborted or rolledback.",
	}, []string{"namespace", "name", "result"})
	m.lead = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "sluice_deployment_lead_time_seconds", Help: "Time from the commit, by the annotation rollouts.argoproj.io/commit-time, to the end of a successful update.",
		Buckets: []float64{300, 900, 1800, hour, 3 * hour, 6 * hour, 12 * hour, day, 3 * day, 7 * day, 14 * day, 30 * day},
	}, labels[:2])
	m.recovery = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "sluice_deployment_recovery_seconds", Help: "Time for which a Rollout was degraded, until it was healthy again.",
		Buckets: []float64{60, 300, 900, 1800, hour, 3 * hour, 6 * hour, 12 * hour, day, 3 * day, 7 * day},
	}, labels[:2])
	to.MustRegister(m.success, m.failure, m.duration, m.deployments, m.lead, m.recovery, depth)
	return m
}

// known has a Rollout's series begin at zero: rates do not show the first of a series that begins at one.
func (m *meters) known(rollout *unstructured.Unstructured) {
	for _, result := range []dora.Result{dora.Succeeded, dora.Aborted, dora.RolledBack} {
		m.deployments.WithLabelValues(rollout.GetNamespace(), m.name(rollout), string(result))
	}
}

// delivered counts what happened to a Rollout.
func (m *meters) delivered(rollout *unstructured.Unstructured, o dora.Outcome) {
	namespace, name := rollout.GetNamespace(), m.name(rollout)
	if o.Result != "" {
		m.deployments.WithLabelValues(namespace, name, string(o.Result)).Inc()
	}
	if o.Lead != nil {
		m.lead.WithLabelValues(namespace, name).Observe(o.Lead.Seconds())
	}
	if o.Recovery != nil {
		m.recovery.WithLabelValues(namespace, name).Observe(o.Recovery.Seconds())
	}
}

// forget drops the series of a Rollout that is gone, where single objects are told apart.
func (m *meters) forget(namespace, name string) {
	if !m.perObject {
		return
	}
	labels := prometheus.Labels{"namespace": namespace, "name": name}
	for _, v := range []interface{ DeletePartialMatch(prometheus.Labels) int }{m.success, m.failure, m.duration, m.deployments, m.lead, m.recovery} {
		v.DeletePartialMatch(labels)
	}
}

// name is an object's where single objects are told apart, and empty elsewhere.
func (m *meters) name(object *unstructured.Unstructured) string {
	if m.perObject {
		return object.GetName()
	}
	return ""
}

func (m *meters) labels(d delivery) []string {
	kind, reason := "", d.trigger
	if d.event != nil {
		kind, reason = d.event.Type, d.event.Reason
	}
	return []string{d.object.GetNamespace(), m.name(d.object), kind, reason}
}

func (m *meters) sent(d delivery)   { m.success.WithLabelValues(m.labels(d)...).Inc() }
func (m *meters) failed(d delivery) { m.failure.WithLabelValues(m.labels(d)...).Inc() }

func (m *meters) took(object *unstructured.Unstructured, d time.Duration) {
	m.duration.WithLabelValues(object.GetNamespace(), m.name(object)).Observe(d.Seconds())
}
