package prometheus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
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
	"github.com/sluice-delivery/sluice/internal/metric/google"
	"github.com/sluice-delivery/sluice/internal/metric/server"
)

// AddressVariable is the controller's environment variable with the address of the server where a metric names none.
const AddressVariable = "ARGO_ROLLOUTS_PROMETHEUS_ADDRESS"

// ResolvedQuery is where a metric's result tells of the query that is sent, and Warnings where a measurement does of the server's.
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

// Measure sends the query.
func (p Provider) Measure(ctx context.Context, r metric.Request) (metric.Reading, error) {
	m := r.Metric.Provider.Prometheus
	question := "query `" + strings.Join(strings.Fields(m.Query), " ") + "`"
	if q := m.RangeQuery; q != nil {
		question += fmt.Sprintf(" from %s to %s", q.Start, q.End)
	}
	var seconds int64
	if m.Timeout != nil {
		seconds = *m.Timeout
	}
	timeout, shortened := metric.Timeout("timeout", seconds, defaultTimeout)
	value, warnings, err := p.measure(ctx, m, timeout, r.Memory)
	if err != nil {
		return metric.Reading{}, fmt.Errorf("%s: %w", question, metric.Shortened(err, shortened))
	}
	reading := metric.Reading{Question: question, About: map[string]string{ResolvedQuery: m.Query}}
	reading.Metadata = map[string]string{
		metric.Asked: fmt.Sprintf("%s at %s at %s", question, server.Place(cmp.Or(m.Address, p.Address)), p.Clock.Now().UTC().Format(time.RFC3339)),
	}
	if len(warnings) > 0 {
		reading.Metadata[Warnings] = quoted(warnings)
	}
	if shortened != "" {
		reading.Metadata[metric.ShortenedTimeout] = shortened
	}
	reading.Value, reading.Text, err = numbers(value)
	if err != nil {
		return metric.Reading{}, fmt.Errorf("%s: %w", question, err)
	}
	return reading, nil
}

func (p Provider) measure(
	ctx context.Context, m *v1alpha1.PrometheusMetric, timeout time.Duration, memory metric.Memory,
) (model.Value, promv1.Warnings, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	address := cmp.Or(m.Address, p.Address)
	if address == "" {
		return nil, nil, fmt.Errorf("there is no address: write it into the metric, or into the controller's environment variable %s", AddressVariable)
	}
	prove, err := p.identity(address, m.Authentication)
	if err != nil {
		return nil, nil, err
	}
	client, err := server.Client(server.Options{
		URL: address, Prove: prove, Insecure: m.Insecure, Headers: m.Headers, Authentication: m.Authentication, MostBytes: mostBytes,
		Memory: memory, Network: p.Network,
	})
	if err != nil {
		return nil, nil, err
	}
	prometheus, err := api.NewClient(api.Config{Address: address, Client: client})
	if err != nil {
		return nil, nil, fmt.Errorf("address: %w", err)
	}
	value, warnings, err := p.query(ctx, promv1.NewAPI(prometheus), m, timeout)
	if err != nil {
		return nil, nil, explain(err, timeout)
	}
	return value, warnings, nil
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

func (p Provider) query(ctx context.Context, server promv1.API, m *v1alpha1.PrometheusMetric, timeout time.Duration) (model.Value, promv1.Warnings, error) {
	now := p.Clock.Now()
	if m.RangeQuery == nil {
		return server.Query(ctx, m.Query, now, promv1.WithTimeout(timeout))
	}
	bounds, err := resolve(ctx, *m.RangeQuery, now)
	if err != nil {
		return nil, nil, err
	}
	return server.QueryRange(ctx, m.Query, bounds, promv1.WithTimeout(timeout))
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
		return promv1.Range{}, fmt.Errorf(`rangeQuery.step %q is no length of time: write for example "30s"`, q.Step)
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
	if strings.Contains(err.Error(), `unexpected value type "string"`) { // the library reads no texts, and has no error for that
		return errText
	}
	var answered *promv1.Error
	if errors.As(err, &answered) && answered.Detail != "" {
		return fmt.Errorf("%w: %q", err, strings.Join(strings.Fields(answered.Detail), " "))
	}
	return server.Explain(err, timeout)
}
