package prometheus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"k8s.io/utils/clock"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/expr"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/aws"
	"github.com/sluice-delivery/sluice/internal/metric/comparison"
	"github.com/sluice-delivery/sluice/internal/metric/google"
	"github.com/sluice-delivery/sluice/internal/metric/server"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// AddressVariable is the controller's environment variable with the address of the server where a metric names none.
const AddressVariable = "ARGO_ROLLOUTS_PROMETHEUS_ADDRESS"

// ResolvedQuery is the key in a metric's result for the query that is sent, and Warnings the key in a measurement for the
// server's warnings.
const (
	ResolvedQuery = "ResolvedPrometheusQuery"
	Warnings      = "warnings"
)

const (
	// mostBytes is how long an answer may be.
	mostBytes = 1 << 20
	// defaultTimeout is how long to wait for it.
	defaultTimeout = 30 * time.Second
)

// Provider sends queries.
type Provider struct {
	// Clock tells the time that queries ask about.
	Clock clock.PassiveClock
	// Address of the server where a metric names none; may be empty.
	Address string
	// Network is what to ask over; nil for the default one.
	Network *server.Network
	// AWS and Google are the controller's identities there.
	AWS    *aws.Account
	Google *google.Account
}

// Measure sends the query, or those of a comparison.
func (p Provider) Measure(ctx context.Context, r metric.Request) (metric.Reading, error) {
	m := r.Metric.Provider.Prometheus
	if r.Metric.Golden != "" && r.Metric.Comparison == nil {
		m = m.DeepCopy()
		m.Query, _ = spec.Golden(&r.Metric)
	}
	var seconds int64
	if m.Timeout != nil {
		seconds = *m.Timeout
	}
	timeout, shortened := metric.Timeout("timeout", seconds, defaultTimeout)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	s := session{Provider: p, r: r, m: m, timeout: timeout, place: server.Place(cmp.Or(m.Address, p.Address))}
	measure := (&s).query
	if r.Metric.Comparison != nil {
		measure = (&s).compare
	}
	reading, err := measure(ctx)
	if err != nil {
		return metric.Reading{}, metric.Shortened(err, shortened)
	}
	if len(s.warnings) > 0 {
		reading.Metadata[Warnings] = quoted(s.warnings)
	}
	if shortened != "" {
		reading.Metadata[metric.ShortenedTimeout] = shortened
	}
	return reading, nil
}

// session is one measurement.
type session struct {
	Provider
	r       metric.Request
	m       *v1alpha1.PrometheusMetric
	timeout time.Duration
	// place is where is asked, to be shown.
	place string
	// warnings are those of the server.
	warnings promv1.Warnings
}

// query sends the metric's query.
func (s *session) query(ctx context.Context) (metric.Reading, error) {
	question := "query `" + strings.Join(strings.Fields(s.m.Query), " ") + "`"
	if q := s.m.RangeQuery; q != nil {
		question += fmt.Sprintf(" from %s to %s", q.Start, q.End)
	}
	reading := metric.Reading{Question: question, About: map[string]string{ResolvedQuery: s.m.Query}}
	value, err := s.value(ctx)
	if err == nil {
		reading.Value, reading.Text, err = numbers(value)
	}
	if err != nil {
		return metric.Reading{}, fmt.Errorf("%s: %w", question, err)
	}
	reading.Metadata = map[string]string{
		metric.Asked: fmt.Sprintf("%s at %s at %s", question, s.place, s.Clock.Now().UTC().Format(time.RFC3339)),
	}
	return reading, nil
}

// value is what the query or the range query gives.
func (s *session) value(ctx context.Context) (model.Value, error) {
	now := s.Clock.Now()
	if s.m.RangeQuery != nil {
		bounds, err := resolve(ctx, *s.m.RangeQuery, now)
		if err != nil {
			return nil, err
		}
		return s.over(ctx, s.m.Query, bounds)
	}
	prometheus, err := s.client()
	if err != nil {
		return nil, err
	}
	value, warnings, err := prometheus.Query(ctx, s.m.Query, now, promv1.WithTimeout(s.timeout))
	s.warnings = warnings
	return value, explain(err, s.timeout)
}

// over is what a query gives over a range of time.
func (s *session) over(ctx context.Context, query string, bounds promv1.Range) (model.Value, error) {
	prometheus, err := s.client()
	if err != nil {
		return nil, err
	}
	value, warnings, err := prometheus.QueryRange(ctx, query, bounds, promv1.WithTimeout(s.timeout))
	s.warnings = append(s.warnings, warnings...)
	return value, explain(err, s.timeout)
}

// compare sends the queries of the metric's comparison.
func (s *session) compare(ctx context.Context) (metric.Reading, error) {
	return comparison.Measure(ctx, s.r, s.Clock.Now(), s.place, func(ctx context.Context, query string, w comparison.Window) ([][]float64, error) {
		value, err := s.over(ctx, query, promv1.Range{Start: w.Start, End: w.End, Step: w.Step})
		if err != nil {
			return nil, err
		}
		matrix, ok := value.(model.Matrix)
		if !ok {
			return nil, fmt.Errorf("the answer is a %s, not a matrix", value.Type())
		}
		var all [][]float64
		for _, series := range matrix {
			values := make([]float64, len(series.Values))
			for i, sample := range series.Values {
				values[i] = float64(sample.Value)
			}
			all = append(all, values)
		}
		return all, nil
	})
}

// client is what asks the server.
func (s *session) client() (promv1.API, error) {
	address := cmp.Or(s.m.Address, s.Address)
	if address == "" {
		return nil, fmt.Errorf("there is no address: write it into the metric, or into the controller's environment variable %s", AddressVariable)
	}
	prove, err := s.identity(address, s.m.Authentication)
	if err != nil {
		return nil, err
	}
	options := server.Options{
		URL: address, Prove: prove, Insecure: s.m.Insecure, Headers: s.m.Headers, Authentication: s.m.Authentication, MostBytes: mostBytes,
		Memory: s.r.Memory, Network: s.Network,
	}
	plain, err := api.NewClient(api.Config{Address: address})
	if err != nil {
		return nil, fmt.Errorf("address: %w", err)
	}
	return promv1.NewAPI(patient{Client: plain, Question: server.Question{Options: options, Timeout: s.timeout}}), nil
}

// patient sends requests as all providers do: again, if the server is overloaded or restarted.
type patient struct {
	api.Client
	server.Question
}

// Do sends a request.
func (p patient) Do(ctx context.Context, r *http.Request) (*http.Response, []byte, error) {
	q := p.Question
	q.URL, q.Method = r.URL.String(), r.Method
	q.Headers = slices.Clone(q.Headers)
	for key, values := range r.Header {
		for _, value := range values {
			q.Headers = append(q.Headers, v1alpha1.WebMetricHeader{Key: key, Value: value})
		}
	}
	if r.Body != nil {
		var err error
		if q.Body, err = io.ReadAll(r.Body); err != nil {
			return nil, nil, err
		}
	}
	answer, err := server.Ask(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	return &http.Response{StatusCode: answer.Status}, answer.Body, nil
}

// identity is what proves who asks where the controller's own identity in a cloud does; nil for nothing. It is never shown to other servers
// than that cloud's.
func (p Provider) identity(address string, a *v1alpha1.Authentication) (func(*http.Request, []byte) error, error) {
	if a == nil {
		a = &v1alpha1.Authentication{}
	}
	signs := a.Sigv4 != nil && *a.Sigv4 != (v1alpha1.Sigv4Config{})
	managed := isManagedByAWS(address)
	switch {
	case signs && !managed:
		return nil, errors.New("authentication.sigv4 is for addresses such as https://aps-workspaces.eu-west-1.amazonaws.com/workspaces/<id>: remove it, or ask such a server")
	case signs, managed && a.Sigv4 != nil:
		who := aws.Identity{Region: a.Sigv4.Region, Profile: a.Sigv4.Profile, Role: a.Sigv4.RoleARN}
		return func(r *http.Request, body []byte) error { return p.AWS.Sign(r, body, "aps", who) }, nil
	case a.Google != nil:
		return func(r *http.Request, _ []byte) error { return p.Google.Prove(r, a.Google.Scopes) }, nil
	}
	return nil, nil
}

func isManagedByAWS(address string) bool {
	u, err := url.Parse(address)
	return err == nil && strings.Contains(u.Hostname(), "aps-workspaces") &&
		(strings.HasSuffix(u.Hostname(), ".amazonaws.com") || strings.HasSuffix(u.Hostname(), ".amazonaws.com.cn"))
}

// quoted are texts in the form that Argo Rollouts gives them: "a", "b".
func quoted(texts []string) string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = `"` + text + `"`
	}
	return strings.Join(out, ", ")
}

// resolve evaluates the bounds of a range.
func resolve(ctx context.Context, q v1alpha1.PrometheusRangeQuery, now time.Time) (promv1.Range, error) {
	start, err := expr.Time(ctx, q.Start, now)
	if err != nil {
		return promv1.Range{}, fmt.Errorf("rangeQuery.start %q: %w", q.Start, err)
	}
	end, err := expr.Time(ctx, q.End, now)
	if err != nil {
		return promv1.Range{}, fmt.Errorf("rangeQuery.end %q: %w", q.End, err)
	}
	step, err := time.ParseDuration(q.Step)
	switch {
	case err != nil || step <= 0:
		return promv1.Range{}, fmt.Errorf(`rangeQuery.step %q is not a duration: write for example "30s"`, q.Step)
	case end.Before(start):
		return promv1.Range{}, fmt.Errorf("rangeQuery ends before it starts: from %q to %q", q.Start, q.End)
	}
	return promv1.Range{Start: start, End: end, Step: step}, nil
}

// numbers are the values of a result, and how they are shown.
func numbers(value model.Value) (any, string, error) {
	all := []float64{}
	switch v := value.(type) {
	case *model.Scalar:
		return float64(v.Value), v.Value.String(), nil
	case model.Vector:
		for _, sample := range v {
			all = append(all, float64(sample.Value))
		}
	case model.Matrix:
		for _, series := range v {
			for _, sample := range series.Values {
				all = append(all, float64(sample.Value))
			}
		}
	default:
		return nil, "", errText
	}
	texts := make([]string, len(all))
	for i, number := range all {
		texts[i] = model.SampleValue(number).String()
	}
	return all, "[" + strings.Join(texts, ",") + "]", nil
}

// errText is for the one kind of result that has no numbers.
var errText = errors.New("the result is a text, which cannot be judged: write a query for a vector or a scalar")

func explain(err error, timeout time.Duration) error {
	if err == nil {
		return nil
	}
	if strings.Contains(err.Error(), `unexpected value type "string"`) { // the library reads no texts, and has no error for that
		return errText
	}
	var answered *promv1.Error
	if errors.As(err, &answered) && answered.Detail != "" {
		return fmt.Errorf("%w: %q", err, strings.Join(strings.Fields(answered.Detail), " "))
	}
	return server.Explain(err, timeout)
}
