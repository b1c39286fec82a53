package loki

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"k8s.io/utils/clock"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/server"
)

// defaultTimeout is how long to wait for an answer.
const defaultTimeout = 30 * time.Second

// Provider sends queries.
type Provider struct {
	Clock   clock.PassiveClock
	Network *server.Network
}

// Measure sends the query.
func (p Provider) Measure(ctx context.Context, r metric.Request) (metric.Reading, error) {
	m := r.Metric.Provider.Loki
	question := fmt.Sprintf("query `%s` at %s at %s", metric.OneLine(m.Query), server.Place(m.Address), p.Clock.Now().UTC().Format(time.RFC3339))
	var seconds int64
	if m.Timeout != nil {
		seconds = *m.Timeout
	}
	timeout, shortened := metric.Timeout("timeout", seconds, defaultTimeout)
	values, err := p.ask(ctx, r, m, timeout)
	if err != nil {
		err = metric.Shortened(err, shortened)
	}
	reading, err := r.Conclude(question, values, metric.Numbers(values), err)
	if err == nil && shortened != "" {
		reading.Metadata[metric.ShortenedTimeout] = shortened
	}
	return reading, err
}

func (p Provider) ask(ctx context.Context, r metric.Request, m *v1alpha1.LokiMetric, timeout time.Duration) ([]float64, error) {
	if a := m.Authentication; a != nil && (a.Google != nil || a.Sigv4 != nil && *a.Sigv4 != (v1alpha1.Sigv4Config{})) {
		return nil, errors.New("authentication.sigv4 and authentication.google are for prometheus only: use basicAuth, oauth2 or headers")
	}
	headers := m.Headers
	if m.Tenant != "" {
		headers = append([]v1alpha1.WebMetricHeader{{Key: "X-Scope-OrgID", Value: m.Tenant}}, headers...)
	}
	asked := url.Values{"query": {m.Query}, "time": {strconv.FormatInt(p.Clock.Now().UnixNano(), 10)}}
	answer, err := server.Succeed(ctx, server.Question{
		Options: server.Options{
			URL: server.At(m.Address, "/loki/api/v1/query?"+asked.Encode()), Insecure: m.Insecure, Headers: headers,
			Authentication: m.Authentication, Memory: r.Memory, Network: p.Network,
		},
		Timeout: timeout,
	})
	if err != nil {
		return nil, err
	}
	return parse(answer)
}

type result struct {
	Status string `json:"status"`
	Data   struct {
		ResultType string          `json:"resultType"`
		Result     json.RawMessage `json:"result"`
	} `json:"data"`
}

// parse reads the values of a vector or a scalar.
func parse(answer server.Answer) ([]float64, error) {
	var out result
	if err := answer.Decode(&out); err != nil {
		return nil, err
	}
	if out.Status != "success" {
		return nil, fmt.Errorf("the status of the answer is %q: %s", out.Status, answer.Excerpt())
	}
	var points [][]json.RawMessage
	var err error
	switch out.Data.ResultType {
	case "vector":
		var vector []struct {
			Value []json.RawMessage `json:"value"`
		}
		err = json.Unmarshal(out.Data.Result, &vector)
		for _, sample := range vector {
			points = append(points, sample.Value)
		}
	case "scalar":
		var point []json.RawMessage
		err = json.Unmarshal(out.Data.Result, &point)
		points = [][]json.RawMessage{point}
	case "streams":
		return nil, errors.New("the result is log lines, which cannot be judged: count them, for example with sum(count_over_time({app=\"shop\"} |= \"error\" [5m]))")
	default:
		return nil, fmt.Errorf("the result is a %q, not a vector or a scalar", out.Data.ResultType)
	}
	if err != nil {
		return nil, fmt.Errorf("the result is not a %s: %w", out.Data.ResultType, err)
	}
	return numbers(points)
}

func numbers(points [][]json.RawMessage) ([]float64, error) {
	values := make([]float64, 0, len(points))
	for i, point := range points {
		var text string
		if len(point) != 2 || json.Unmarshal(point[1], &text) != nil {
			return nil, fmt.Errorf("value %d of the result is not a time and a number in quotes", i)
		}
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("value %d of the result: %q is not a number", i, text)
		}
		values = append(values, value)
	}
	if len(values) == 0 {
		return nil, errNone
	}
	return values, nil
}

var errNone = metric.None("no values found")
