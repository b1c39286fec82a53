package wavefront

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/server"
)

const (
	timeout = 30 * time.Second
	// tokens is the Secret in the controller's namespace with a token for each address.
	tokens = "wavefront-api-tokens"
)

// What is said of a measurement: the times of its points, and by how many seconds these differ from when it was made.
const (
	timestampsKey = "timestamps"
	driftKey      = "drift"
	warningsKey   = "warnings"
)

// Provider sends queries.
type Provider struct {
	Clock   clock.PassiveClock
	Network *server.Network
}

// Measure sends the query.
func (p Provider) Measure(ctx context.Context, r metric.Request) (metric.Reading, error) {
	m := r.Metric.Provider.Wavefront
	secret, err := r.Keys.Secret(ctx, "", tokens)
	if err != nil {
		return metric.Reading{}, fmt.Errorf("API token not found: %w", err)
	}
	token := strings.TrimSpace(secret[m.Address])
	if token == "" {
		return metric.Reading{}, fmt.Errorf("API token not found: Secret %q has no key %q", tokens, m.Address)
	}
	r.Keys.Hide(token)
	now := p.Clock.Now()
	question := fmt.Sprintf("query `%s` at https://%s at %s", metric.OneLine(m.Query), m.Address, now.UTC().Format(time.RFC3339))
	reading, err := p.ask(ctx, r, token, now)
	if err != nil {
		return r.Conclude(question, nil, "", err)
	}
	reading.Question, reading.Metadata[metric.Asked] = question, question
	return reading, nil
}

func (p Provider) ask(ctx context.Context, r metric.Request, token string, now time.Time) (metric.Reading, error) {
	m := r.Metric.Provider.Wavefront
	at := strconv.FormatInt(now.UnixMilli(), 10)
	ask := url.Values{"q": {m.Query}, "s": {at}, "e": {at}, "g": {"s"}, "p": {"1"}, "i": {"true"}}
	answer, err := server.Succeed(ctx, server.Question{
		Options: server.Options{
			URL:     "https://" + m.Address + "/api/v2/chart/api?" + ask.Encode(),
			Headers: []v1alpha1.WebMetricHeader{{Key: "Authorization", Value: "Bearer " + token}}, Memory: r.Memory, Network: p.Network,
		},
		Timeout: timeout,
	})
	if err != nil {
		return metric.Reading{}, err
	}
	return parse(answer, now.Unix())
}

type chart struct {
	Timeseries []struct {
		Data [][]*float64 `json:"data"`
	} `json:"timeseries"`
	Warnings     string `json:"warnings"`
	ErrorType    string `json:"errorType"`
	ErrorMessage string `json:"errorMessage"`
}

// parse takes of each series the point nearest to start.
func parse(answer server.Answer, start int64) (metric.Reading, error) {
	var c chart
	if err := answer.Decode(&c); err != nil {
		return metric.Reading{}, err
	}
	if c.ErrorType != "" || c.ErrorMessage != "" {
		return metric.Reading{}, fmt.Errorf("%s: %s", c.ErrorType, c.ErrorMessage)
	}
	var values []float64
	var texts, times, drifts []string
	for i, series := range c.Timeseries {
		best := math.Inf(1)
		var at, value float64
		for _, point := range series.Data {
			if len(point) != 2 || point[0] == nil {
				return metric.Reading{}, fmt.Errorf("series %d has a point that is not a time and a value", i)
			}
			if distance := math.Abs(*point[0] - float64(start)); point[1] != nil && distance < best {
				best, at, value = distance, *point[0], *point[1]
			}
		}
		if math.IsInf(best, 1) {
			continue // it has no points
		}
		values, texts = append(values, value), append(texts, fmt.Sprintf("%.2f", value))
		times = append(times, strconv.FormatInt(int64(at), 10))
		drifts = append(drifts, strconv.FormatInt(start-int64(at), 10))
	}
	metadata := map[string]string{}
	if c.Warnings != "" {
		metadata[warningsKey] = c.Warnings
	}
	switch len(values) {
	case 0:
		return metric.Reading{}, errNone
	case 1:
		metadata[timestampsKey], metadata[driftKey] = times[0], drifts[0]
		return metric.Reading{Value: values[0], Text: texts[0], Metadata: metadata}, nil
	}
	metadata[timestampsKey], metadata[driftKey] = list(times), list(drifts)
	return metric.Reading{Value: values, Text: list(texts), Metadata: metadata}, nil
}

func list(texts []string) string { return "[" + strings.Join(texts, ",") + "]" }

var errNone = metric.None("No TimeSeries found in response from Wavefront")
