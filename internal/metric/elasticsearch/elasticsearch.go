package elasticsearch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/server"
)

// defaultTimeout is how long to wait for an answer.
const defaultTimeout = 30 * time.Second

// Provider sends queries.
type Provider struct{ Network *server.Network }

// query is a request, how it is shown, and how its answer is read.
type query struct {
	path, text string
	body       any
	read       func(server.Answer) (any, error)
}

// Measure sends the query.
func (p Provider) Measure(ctx context.Context, r metric.Request) (metric.Reading, error) {
	m := r.Metric.Provider.Elasticsearch
	q, err := newQuery(m)
	if err != nil {
		return metric.Reading{}, err
	}
	question := fmt.Sprintf("%s at %s", q.text, server.Place(m.Address))
	var seconds int64
	if m.Timeout != nil {
		seconds = *m.Timeout
	}
	timeout, shortened := metric.Timeout("timeout", seconds, defaultTimeout)
	value, err := p.ask(ctx, r, q, timeout)
	if err != nil {
		err = metric.Shortened(err, shortened)
	}
	text, broken := json.Marshal(value)
	reading, err := r.Conclude(question, value, string(text), cmp.Or(err, broken))
	if err == nil && shortened != "" {
		reading.Metadata[metric.ShortenedTimeout] = shortened
	}
	return reading, err
}

// newQuery is the request of a metric: one of ES|QL and search.
func newQuery(m *v1alpha1.ElasticsearchMetric) (query, error) {
	if m.ESQL != "" {
		return query{
			path: "/_query", text: fmt.Sprintf("query `%s`", metric.OneLine(m.ESQL)), body: map[string]any{"query": m.ESQL}, read: rows,
		}, nil
	}
	if m.Index == "" {
		return query{}, errors.New("index is required with search: name the indices, for example logs-*")
	}
	body := map[string]any{}
	decoder := json.NewDecoder(strings.NewReader(m.Search))
	decoder.UseNumber() // large numbers stay as they are
	if err := decoder.Decode(&body); err != nil || body == nil || decoder.More() {
		return query{}, fmt.Errorf("search is not a JSON object: write for example {\"query\": {\"match_all\": {}}}: %s", whyNot(err))
	}
	body["size"] = 0 // documents are nothing that a status should have
	if _, set := body["track_total_hits"]; !set {
		body["track_total_hits"] = true
	}
	return query{
		path: "/" + url.PathEscape(m.Index) + "/_search", body: body, read: found,
		text: fmt.Sprintf("search `%s` in %s", metric.OneLine(m.Search), m.Index),
	}, nil
}

func whyNot(err error) string {
	if err == nil {
		return "it has more than one value, or is null"
	}
	return err.Error()
}

func (p Provider) ask(ctx context.Context, r metric.Request, q query, timeout time.Duration) (any, error) {
	m := r.Metric.Provider.Elasticsearch
	if a := m.Authentication; a != nil && (a.Google != nil || a.Sigv4 != nil && *a.Sigv4 != (v1alpha1.Sigv4Config{})) {
		return nil, errors.New("authentication.sigv4 and authentication.google are for prometheus only: use basicAuth, oauth2 or headers")
	}
	body, err := json.Marshal(q.body)
	if err != nil {
		return nil, err
	}
	answer, err := server.Ask(ctx, server.Question{
		Options: server.Options{
			URL: server.At(m.Address, q.path), Insecure: m.Insecure, Authentication: m.Authentication, Memory: r.Memory, Network: p.Network,
			Headers: append([]v1alpha1.WebMetricHeader{{Key: "Content-Type", Value: "application/json"}}, m.Headers...),
		},
		Method: http.MethodPost, Body: body, Timeout: timeout,
	})
	switch {
	case err != nil:
		return nil, err
	case !answer.OK():
		return nil, answer.Refusal()
	}
	return q.read(answer)
}

// rows reads the answer to ES|QL: one row is an object, several are a list of objects.
func rows(answer server.Answer) (any, error) {
	var out struct {
		Partial bool `json:"is_partial"`
		Columns []struct {
			Name string `json:"name"`
		} `json:"columns"`
		Values [][]any `json:"values"`
	}
	if err := answer.Decode(&out); err != nil {
		return nil, err
	}
	switch {
	case out.Partial:
		return nil, errors.New("the result is partial, because shards or clusters did not answer")
	case out.Columns == nil:
		return nil, fmt.Errorf("the answer has no columns: %s", answer.Excerpt())
	case len(out.Values) == 0:
		return nil, errNone
	}
	all := make([]any, len(out.Values))
	for i, values := range out.Values {
		if len(values) != len(out.Columns) {
			return nil, fmt.Errorf("row %d has %d values for %d columns", i, len(values), len(out.Columns))
		}
		row := make(map[string]any, len(values))
		for j, value := range values {
			row[out.Columns[j].Name] = value
		}
		all[i] = row
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return all, nil
}

// found reads the answer to a search: how many documents match, and what was computed of them.
func found(answer server.Answer) (any, error) {
	var out struct {
		TimedOut bool `json:"timed_out"`
		Shards   struct {
			Failed int `json:"failed"`
		} `json:"_shards"`
		Hits *struct {
			Total json.RawMessage `json:"total"`
		} `json:"hits"`
		Aggregations map[string]any `json:"aggregations"`
	}
	if err := answer.Decode(&out); err != nil {
		return nil, err
	}
	switch {
	case out.TimedOut:
		return nil, errors.New("the result is partial: the search timed out")
	case out.Shards.Failed > 0:
		return nil, fmt.Errorf("the result is partial: %d shards failed", out.Shards.Failed)
	case out.Hits == nil:
		return nil, fmt.Errorf("the answer has no hits: %s", answer.Excerpt())
	}
	value := map[string]any{"aggregations": out.Aggregations}
	if len(out.Hits.Total) > 0 {
		total, err := totalOf(out.Hits.Total)
		if err != nil {
			return nil, err
		}
		value["total"] = total
	}
	return value, nil
}

// totalOf reads hits.total, which is a number in old versions.
func totalOf(text json.RawMessage) (float64, error) {
	var total struct {
		Value *float64 `json:"value"`
	}
	var number *float64
	switch {
	case json.Unmarshal(text, &number) == nil && number != nil:
		return *number, nil
	case json.Unmarshal(text, &total) == nil && total.Value != nil:
		return *total.Value, nil
	}
	return 0, fmt.Errorf("hits.total is not a number: %s", text)
}

var errNone = metric.None("no rows found")
