package newrelic

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/server"
)

const (
	defaultProfile = "newrelic"
	defaultTimeout = 5
	// slack is how much longer than the query the request may take.
	slack = 5 * time.Second
	// resolvedQuery is where a metric's result says what was sent.
	resolvedQuery = "ResolvedNewRelicQuery"
)

// graphQL asks for the rows of a query in NRQL.
const graphQL = "query($query: Nrql!, $accountId: Int!, $timeout: Seconds!) " +
	"{ actor { account(id: $accountId) { nrql(query: $query, timeout: $timeout) { results } } } }"

// Provider sends queries.
type Provider struct{ Network *server.Network }

// Measure sends the query.
func (p Provider) Measure(ctx context.Context, r metric.Request) (metric.Reading, error) {
	m := r.Metric.Provider.NewRelic
	seconds := int64(defaultTimeout)
	if m.Timeout != nil && *m.Timeout != 0 {
		seconds = *m.Timeout
	}
	if seconds < 0 {
		return metric.Reading{}, errors.New("timeout value needs to be a positive value")
	}
	a, err := newAccount(ctx, r, cmp.Or(m.Profile, defaultProfile))
	if err != nil {
		return metric.Reading{}, err
	}
	question := fmt.Sprintf("query `%s` at %s of account %d", metric.OneLine(m.Query), server.Place(a.address), a.id)
	timeout, warning := metric.Timeout("timeout", seconds, 0)
	data, err := server.GraphQL(ctx, server.Question{
		Options: server.Options{
			URL: a.address, Headers: []v1alpha1.WebMetricHeader{{Key: "Api-Key", Value: a.key}}, Memory: r.Memory, Network: p.Network,
		},
		Timeout: min(timeout+slack, metric.LongestTimeout),
	}, graphQL, map[string]any{"query": m.Query, "accountId": a.id, "timeout": int64(timeout / time.Second)})
	if err != nil {
		return metric.Reading{}, fmt.Errorf("%s: %w", question, metric.Shortened(err, warning))
	}
	value, text, err := rows(data)
	reading, err := r.Conclude(question, value, text, err)
	if err != nil {
		return metric.Reading{}, err
	}
	reading.About = map[string]string{resolvedQuery: m.Query}
	if warning != "" {
		reading.Metadata[metric.ShortenedTimeout] = warning
	}
	return reading, nil
}

// account is where to ask, and as whom.
type account struct {
	address, key string
	id           int64
}

func newAccount(ctx context.Context, r metric.Request, profile string) (account, error) {
	secret, err := r.Keys.Secret(ctx, "", profile)
	if err != nil {
		return account{}, err
	}
	a := account{address: secret["base-url-nerdgraph"], key: strings.TrimSpace(secret["personal-api-key"])}
	r.Keys.Hide(a.key)
	id := strings.TrimSpace(secret["account-id"])
	if a.key == "" || id == "" {
		return account{}, fmt.Errorf("account ID or personal API key not found: Secret %q needs the keys personal-api-key and account-id", profile)
	}
	if a.id, err = strconv.ParseInt(id, 10, 64); err != nil {
		return account{}, fmt.Errorf("could not parse account ID: %w", err)
	}
	switch region := strings.ToLower(secret["region"]); {
	case a.address != "":
	case region == "", region == "us":
		a.address = "https://api.newrelic.com/graphql"
	case region == "eu":
		a.address = "https://api.eu.newrelic.com/graphql"
	default:
		return account{}, fmt.Errorf("region %q of Secret %q is unknown: write us or eu", region, profile)
	}
	return a, nil
}

// rows are those of an answer: one is an object, several are a list.
func rows(data json.RawMessage) (any, string, error) {
	var out struct {
		Actor struct {
			Account struct {
				NRQL struct {
					Results []map[string]any `json:"results"`
				} `json:"nrql"`
			} `json:"account"`
		} `json:"actor"`
	}
	if len(data) > 0 {
		if err := json.Unmarshal(data, &out); err != nil {
			return nil, "", fmt.Errorf("the answer has no rows: %w", err)
		}
	}
	all := out.Actor.Account.NRQL.Results
	var value any = all
	switch {
	case len(all) == 0, len(all) == 1 && len(all[0]) == 0:
		return nil, "", errNone
	case len(all) == 1:
		value = all[0]
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, "", err
	}
	return value, string(text), nil
}

var errNone = metric.None("no results returned from NRQL query")
