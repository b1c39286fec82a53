package skywalking

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/utils/clock"

	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/server"
)

const (
	timeout         = 30 * time.Second
	defaultInterval = 5 * time.Minute
	// minutes is how the server writes a time where the step is MINUTE.
	minutes = "2006-01-02 1504"
)

// Provider sends queries.
type Provider struct {
	Clock   clock.PassiveClock
	Network *server.Network
}

// Measure sends the query.
func (p Provider) Measure(ctx context.Context, r metric.Request) (metric.Reading, error) {
	m := r.Metric.Provider.SkyWalking
	interval, err := metric.Window("interval", m.Interval, defaultInterval)
	if err != nil {
		return metric.Reading{}, err
	}
	end := p.Clock.Now().UTC()
	window := map[string]any{"start": end.Add(-interval).Format(minutes), "end": end.Format(minutes), "step": "MINUTE"}
	question := fmt.Sprintf("query `%s` at %s from %s to %s",
		metric.OneLine(m.Query), server.Place(m.Address), window["start"], window["end"])
	data, err := server.GraphQL(ctx, server.Question{
		Options: server.Options{URL: server.At(m.Address, "/graphql"), Memory: r.Memory, Network: p.Network}, Timeout: timeout,
	}, m.Query, map[string]any{"duration": window})
	var value map[string]any
	var text string
	if err == nil {
		value, text, err = result(data)
	}
	return r.Conclude(question, value, text, err)
}

// result is the data of an answer, and how it is shown.
func result(data json.RawMessage) (map[string]any, string, error) {
	var value map[string]any
	if len(data) > 0 {
		if err := json.Unmarshal(data, &value); err != nil {
			return nil, "", fmt.Errorf("the data of the answer is no object: %w", err)
		}
	}
	if len(value) == 0 {
		return nil, "", errNone
	}
	text, err := json.Marshal(value)
	return value, string(text), err
}

var errNone = metric.None("no results returned from SkyWalking query")
