package telemetry

import (
	"errors"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// queueMeters keeps the metrics that controller-runtime registers for its own queues (workqueue_*), which dashboards know, for ours.
type queueMeters struct {
	clock   clock.PassiveClock
	name    string
	depth   *prometheus.GaugeVec
	adds    prometheus.Counter
	latency prometheus.Observer
	work    prometheus.Observer
	retries prometheus.Counter
	// ready and begun are since when requests wait for a worker, and are worked on.
	ready, begun map[reconcile.Request]time.Time
}

func newQueueMeters(clk clock.PassiveClock, name string) *queueMeters {
	of := []string{"name", "controller"}
	return &queueMeters{
		clock: clk, name: name, ready: map[reconcile.Request]time.Time{}, begun: map[reconcile.Request]time.Time{},
		depth: registered(prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Subsystem: metrics.WorkQueueSubsystem, Name: metrics.DepthKey, Help: "Current depth of workqueue by workqueue and priority",
		}, append(of, "priority"))),
		adds: registered(prometheus.NewCounterVec(prometheus.CounterOpts{
			Subsystem: metrics.WorkQueueSubsystem, Name: metrics.AddsKey, Help: "Total number of adds handled by workqueue",
		}, of)).WithLabelValues(name, name),
		latency: registered(prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Subsystem: metrics.WorkQueueSubsystem, Name: metrics.QueueLatencyKey,
			Help: "How long in seconds an item stays in workqueue before being requested",
		}, of)).WithLabelValues(name, name),
		work: registered(prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Subsystem: metrics.WorkQueueSubsystem, Name: metrics.WorkDurationKey,
			Help: "How long in seconds processing an item from workqueue takes.",
		}, of)).WithLabelValues(name, name),
		retries: registered(prometheus.NewCounterVec(prometheus.CounterOpts{
			Subsystem: metrics.WorkQueueSubsystem, Name: metrics.RetriesKey,
			Help: "Total number of items added to the workqueue with a non-zero delay (rate-limited requeues, explicit RequeueAfter or AddAfter calls)",
		}, of)).WithLabelValues(name, name),
	}
}

// registered is the collector of that name that controller-runtime has registered. It offers no other way to its own.
func registered[C prometheus.Collector](like C) C {
	err := metrics.Registry.Register(like)
	var there prometheus.AlreadyRegisteredError
	switch {
	case errors.As(err, &there):
		return there.ExistingCollector.(C)
	case err != nil:
		panic(err) // another version of controller-runtime, with other metrics
	}
	return like
}

func (m *queueMeters) of(priority int) prometheus.Gauge {
	return m.depth.WithLabelValues(m.name, m.name, strconv.Itoa(priority))
}

// Ready counts a request that waits for a worker.
func (m *queueMeters) Ready(request reconcile.Request, priority int) {
	m.adds.Inc()
	m.of(priority).Inc()
	m.ready[request] = m.clock.Now()
}

// Raised counts a request under another priority.
func (m *queueMeters) Raised(from, to int) {
	m.of(from).Dec()
	m.of(to).Inc()
}

// Begun tells how long a request has waited.
func (m *queueMeters) Begun(request reconcile.Request, priority int) {
	m.of(priority).Dec()
	now := m.clock.Now()
	m.latency.Observe(now.Sub(m.ready[request]).Seconds())
	delete(m.ready, request)
	m.begun[request] = now
}

// Done tells how long a pass has taken.
func (m *queueMeters) Done(request reconcile.Request) {
	m.work.Observe(m.clock.Now().Sub(m.begun[request]).Seconds())
	delete(m.begun, request)
}

// Delayed counts a request for later.
func (m *queueMeters) Delayed() { m.retries.Inc() }
