package influxdb

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/server"
)

const (
	timeout        = 30 * time.Second
	defaultProfile = "influxdb"
)

// Provider sends queries.
type Provider struct{ Network *server.Network }

type request struct {
	Query   string  `json:"query"`
	Type    string  `json:"type"`
	Dialect dialect `json:"dialect"`
}

type dialect struct {
	Annotations []string `json:"annotations"`
	Delimiter   string   `json:"delimiter"`
	Header      bool     `json:"header"`
}

// Measure sends the query.
func (p Provider) Measure(ctx context.Context, r metric.Request) (metric.Reading, error) {
	m := r.Metric.Provider.Influxdb
	profile := cmp.Or(m.Profile, defaultProfile)
	secret, err := r.Profile(ctx, profile, "authToken")
	if err != nil {
		return metric.Reading{}, err
	}
	address, token, org := secret["address"], secret["authToken"], secret["org"]
	if address == "" || token == "" || org == "" {
		return metric.Reading{}, fmt.Errorf("authToken, org, or address not found: Secret %q needs these keys", profile)
	}
	question := fmt.Sprintf("query `%s` at %s", metric.OneLine(m.Query), server.Place(address))
	body, err := json.Marshal(request{m.Query, "flux", dialect{[]string{"datatype", "group", "default"}, ",", true}})
	if err != nil {
		return metric.Reading{}, err
	}
	answer, err := server.Succeed(ctx, server.Question{
		Options: server.Options{
			URL: server.At(address, "/api/v2/query?"+url.Values{"org": {org}}.Encode()),
			Headers: []v1alpha1.WebMetricHeader{
				{Key: "Authorization", Value: "Token " + token}, {Key: "Content-Type", Value: "application/json; charset=utf-8"},
			},
			Memory: r.Memory, Network: p.Network,
		},
		Method: http.MethodPost, Body: body, Timeout: timeout,
	})
	if answer.Status == http.StatusNotFound {
		err = fmt.Errorf("%w; if the server does not know this path, it is too old: Flux needs InfluxDB 2, or 1.8 with flux-enabled", err)
	}
	var values []any
	if err == nil {
		values, err = parse(answer.Body)
	}
	return r.Conclude(question, values, fmt.Sprint(values), err)
}
