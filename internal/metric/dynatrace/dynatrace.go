package dynatrace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	defaultProfile    = "dynatrace"
	defaultInterval   = 5 * time.Minute
	defaultResolution = "Inf"
	timeout           = 30 * time.Second
)

// Provider sends queries.
type Provider struct {
	Clock   clock.PassiveClock
	Network *server.Network
}

// Measure sends the query.
func (p Provider) Measure(ctx context.Context, r metric.Request) (metric.Reading, error) {
	m := r.Metric.Provider.Dynatrace
	window, err := metric.Window("interval", m.Interval, defaultInterval)
	if err != nil {
		return metric.Reading{}, err
	}
	profile := cmp.Or(m.Profile, defaultProfile)
	secret, err := r.Profile(ctx, profile, "api-token")
	if err != nil {
		return metric.Reading{}, err
	}
	address, token := secret["address"], secret["api-token"]
	if address == "" || token == "" {
		return metric.Reading{}, fmt.Errorf("address or API token not found: Secret %q needs the keys address and api-token", profile)
	}
	span := metric.Last(window, p.Clock.Now())
	asked := url.Values{
		"metricSelector": {m.MetricSelector}, "resolution": {cmp.Or(m.Resolution, defaultResolution)},
		"from": {strconv.FormatInt(span.From.UnixMilli(), 10)}, "to": {strconv.FormatInt(span.To.UnixMilli(), 10)},
	}
	question := fmt.Sprintf("query `%s`", metric.OneLine(m.MetricSelector))
	if m.EntitySelector != "" {
		asked.Set("entitySelector", m.EntitySelector)
		question += fmt.Sprintf(" of entities `%s`", metric.OneLine(m.EntitySelector))
	}
	question += fmt.Sprintf(" %s at %s", span, server.Place(address))
	answer, err := server.Succeed(ctx, server.Question{
		Options: server.Options{
			URL: server.At(address, "/api/v2/metrics/query?"+asked.Encode()), Memory: r.Memory, Network: p.Network,
			Headers: []v1alpha1.WebMetricHeader{{Key: "Authorization", Value: "Api-Token " + token}},
		},
		Timeout: timeout,
	})
	var values []float64
	var warnings []string
	if err == nil {
		values, warnings, err = parse(answer)
	}
	reading, err := r.Conclude(question, values, metric.Numbers(values), err)
	if err == nil && len(warnings) > 0 {
		reading.Metadata["warnings"] = strings.Join(warnings, "; ")
	}
	return reading, err
}

// parse reads the values of all series, one after the other. Null is a time without data.
func parse(answer server.Answer) (values []float64, warnings []string, err error) {
	var out struct {
		NextPageKey string `json:"nextPageKey"`
		Result      []struct {
			Warnings []string `json:"warnings"`
			Data     []struct {
				Values []*float64 `json:"values"`
			} `json:"data"`
		} `json:"result"`
		Warnings []string `json:"warnings"`
	}
	if err := answer.Decode(&out); err != nil {
		return nil, nil, err
	}
	switch {
	case out.Result == nil:
		return nil, nil, fmt.Errorf("the answer has no result: %s", answer.Excerpt())
	case out.NextPageKey != "":
		return nil, nil, errors.New("the result has more than one page: ask for less, for example with :splitBy() or :limit(100)")
	}
	warnings = out.Warnings
	for _, result := range out.Result {
		warnings = append(warnings, result.Warnings...)
		for _, series := range result.Data {
			for _, value := range series.Values {
				if value != nil {
					values = append(values, *value)
				}
			}
		}
	}
	if len(values) == 0 {
		return nil, nil, errNone
	}
	return values, warnings, nil
}

var errNone = metric.None("no values found")
