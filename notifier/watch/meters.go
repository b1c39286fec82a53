package watch

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// meters are Argo Rollouts' metrics of notifications.
type meters struct {
	perObject        bool
	success, failure *prometheus.CounterVec
	duration         *prometheus.HistogramVec
}

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
	to.MustRegister(m.success, m.failure, m.duration, depth)
	return m
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
