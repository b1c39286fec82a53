package kubernetes

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/server"
)

const (
	timeout = 30 * time.Second
	// timestampKey is where a measurement says how old its oldest number is.
	timestampKey = "timestamp"
)

// Cluster is where the APIs are served.
type Cluster struct {
	// Address is that of the API server, empty where there is none.
	Address string
	// Network is connections to this server only, which prove who asks.
	Network *server.Network
}

// Provider reads metrics.
type Provider struct{ Cluster Cluster }

// Measure reads the metric.
func (p Provider) Measure(ctx context.Context, r metric.Request) (metric.Reading, error) {
	if p.Cluster.Address == "" {
		return metric.Reading{}, errors.New("no cluster is known here whose metrics could be read")
	}
	q, err := newQuestion(r.Metric.Provider.Kubernetes, r.Run.Namespace)
	if err != nil {
		return metric.Reading{}, err
	}
	answer, err := server.Ask(ctx, server.Question{
		Options: server.Options{URL: server.At(p.Cluster.Address, q.path), Memory: r.Memory, Network: p.Cluster.Network}, Timeout: timeout,
	})
	if err == nil && !answer.OK() {
		err = refusal(answer, q.version)
	}
	var values []float64
	var oldest time.Time
	if err == nil {
		values, oldest, err = parse(answer)
	}
	reading, err := r.Conclude(q.text, values, metric.Numbers(values), err)
	if err == nil && !oldest.IsZero() {
		reading.Metadata[timestampKey] = oldest.UTC().Format(time.RFC3339)
	}
	return reading, err
}
