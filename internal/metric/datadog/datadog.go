package datadog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/server"
)

const (
	defaultInterval = 5 * time.Minute
	defaultTimeout  = 10 * time.Second
	defaultAddress  = "https://api.datadoghq.com"
	// defaultSecret is the Secret in the controller's namespace where the metric and the environment name none.
	defaultSecret = "datadog"
)

// Provider sends queries.
type Provider struct {
	Clock   clock.PassiveClock
	Network *server.Network
	// Env reads the controller's environment.
	Env func(string) string
}

// task is a metric with its defaults, and the credentials.
type task struct {
	v1alpha1.DatadogMetric
	// queries by name, in order.
	queries []query
	from    time.Time
	to      time.Time
	timeout time.Duration
	// warning says that the timeout was shortened.
	warning string
	keys
}

type query struct{ name, text string }

type keys struct{ address, api, app string }

// Measure sends the query.
func (p Provider) Measure(ctx context.Context, r metric.Request) (metric.Reading, error) {
	t, err := p.resolve(*r.Metric.Provider.Datadog)
	if err != nil {
		return metric.Reading{}, err
	}
	if t.keys, err = p.credentials(ctx, r, t.SecretRef); err != nil {
		return metric.Reading{}, err
	}
	r.Keys.Hide(t.api, t.app)
	question := t.question()
	measure := p.timeseries
	if t.ApiVersion == "v2" {
		measure = p.scalar
	}
	reading, err := measure(ctx, r, t)
	if err != nil {
		return metric.Reading{}, fmt.Errorf("%s: %w", question, metric.Shortened(err, t.warning))
	}
	reading.Question = question
	if reading.Metadata == nil {
		reading.Metadata = map[string]string{}
	}
	reading.Metadata[metric.Asked] = question
	if t.warning != "" {
		reading.Metadata[metric.ShortenedTimeout] = t.warning
	}
	return reading, nil
}

// resolve checks a metric, and fills in what it leaves out.
func (p Provider) resolve(m v1alpha1.DatadogMetric) (task, error) {
	if err := check(m); err != nil {
		return task{}, err
	}
	t := task{DatadogMetric: m, timeout: defaultTimeout}
	for _, name := range slices.Sorted(maps.Keys(m.Queries)) {
		t.queries = append(t.queries, query{name, m.Queries[name]})
	}
	if m.Query != "" {
		t.queries = []query{{"query", m.Query}}
	}
	interval, err := metric.Window("interval", m.Interval, defaultInterval)
	if err != nil {
		return task{}, err
	}
	if m.RequestTimeout != "" {
		timeout, err := m.RequestTimeout.Duration()
		switch {
		case err != nil:
			return task{}, fmt.Errorf("Could not parse the request timeout: %v. Please review the Analysis Template.", err) //nolint:errorlint,staticcheck // the text is known
		case timeout <= 0:
			return task{}, errors.New("Request timeout must be a positive duration (e.g. 30s). Please review the Analysis Template.") //nolint:staticcheck // the text is known
		case timeout > metric.LongestTimeout:
			t.warning = fmt.Sprintf("requestTimeout %s is shortened to %s, the longest that a measurement may wait", timeout, metric.LongestTimeout)
		}
		t.timeout = min(timeout, metric.LongestTimeout)
	}
	t.to = p.Clock.Now().UTC().Truncate(time.Second)
	t.from = t.to.Add(-interval)
	return t, nil
}

// check says what is wrong with the queries of a metric. The texts are those that users of Argo Rollouts know.
func check(m v1alpha1.DatadogMetric) error {
	var problem string
	switch v2 := m.ApiVersion == "v2"; {
	case m.Query != "" && len(m.Queries) > 0:
		problem = "Cannot have both a query and queries."
	case !v2 && m.Aggregator != "":
		problem = "Aggregator is not supported in v1."
	case !v2 && m.Query == "":
		return errors.New("Query is empty. API Version v1 only supports using the query parameter in your Analysis Template.") //nolint:staticcheck // the text is known
	case m.Query == "" && len(m.Queries) == 0:
		problem = "Must have either a query or queries."
	case m.Formula != "" && len(m.Queries) == 0:
		problem = "Formula are only valid when queries are set."
	case m.Formula == "" && len(m.Queries) > 1:
		problem = "When multiple queries are provided you must include a formula."
	default:
		return nil
	}
	return errors.New(problem + " Please review the Analysis Template.")
}

// credentials are those of the Secret that the metric names, of the controller's environment if that has all three, or of the Secret datadog.
func (p Provider) credentials(ctx context.Context, r metric.Request, ref v1alpha1.SecretRef) (keys, error) {
	if ref.Namespaced && ref.Name == "" {
		return keys{}, errors.New("secret name is required for namespaced credentials")
	}
	if ref.Name == "" && p.Env != nil {
		k := keys{p.Env("DD_ADDRESS"), p.Env("DD_API_KEY"), p.Env("DD_APP_KEY")}
		if k.address != "" && k.api != "" && k.app != "" {
			return k, nil
		}
	}
	namespace := ""
	if ref.Namespaced {
		namespace = r.Run.Namespace
	}
	name := cmp.Or(ref.Name, defaultSecret)
	secret, err := r.Keys.Secret(ctx, namespace, name)
	if err != nil {
		return keys{}, fmt.Errorf("failed to find the credentials for datadog metrics provider: %w", err)
	}
	k := keys{cmp.Or(secret["address"], defaultAddress), secret["api-key"], secret["app-key"]}
	if k.api == "" || k.app == "" {
		return keys{}, fmt.Errorf("failed to find the credentials for datadog metrics provider: Secret %q needs the keys api-key and app-key", name)
	}
	return k, nil
}

// question says what is asked.
func (t task) question() string {
	var texts []string
	for _, q := range t.queries {
		text := "`" + strings.Join(strings.Fields(q.text), " ") + "`"
		if len(t.queries) > 1 || t.Formula != "" {
			text = q.name + " " + text
		}
		texts = append(texts, text)
	}
	what := "query " + strings.Join(texts, ", ")
	if t.Formula != "" {
		what += ", formula `" + t.Formula + "`"
	}
	return fmt.Sprintf("%s at %s from %s to %s", what, server.Place(t.address), t.from.Format(time.RFC3339), t.to.Format(time.RFC3339))
}

// ask sends a request with the credentials.
func (p Provider) ask(ctx context.Context, r metric.Request, t task, q server.Question) (server.Answer, error) {
	q.URL = server.At(t.address, q.URL)
	q.Headers = []v1alpha1.WebMetricHeader{
		{Key: "Content-Type", Value: "application/json"}, {Key: "DD-API-KEY", Value: t.api}, {Key: "DD-APPLICATION-KEY", Value: t.app},
	}
	q.Memory, q.Network, q.Timeout = r.Memory, p.Network, t.timeout
	answer, err := server.Ask(ctx, q)
	switch {
	case err != nil:
		return answer, err
	case answer.Unauthorized():
		return answer, fmt.Errorf("received authentication error response code: %d %s", answer.Status, answer.Excerpt())
	case !answer.OK():
		return answer, fmt.Errorf("received non 2xx response code: %w", answer.Refusal())
	}
	return answer, nil
}
