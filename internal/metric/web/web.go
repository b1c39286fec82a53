package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/util/jsonpath"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/server"
)

const (
	// mostBytes is how long an answer may be.
	mostBytes = 1 << 20
	// defaultTimeout is how long to wait for it.
	defaultTimeout = 10 * time.Second
)

// Provider sends HTTP requests.
type Provider struct {
	// Network is what to ask over; nil for the default one.
	Network *server.Network
}

// Measure sends the request.
func (p Provider) Measure(ctx context.Context, r metric.Request) (metric.Reading, error) {
	w := r.Metric.Provider.Web
	method := cmp.Or(string(w.Method), http.MethodGet)
	question := method + " " + w.URL
	timeout, warning := metric.Timeout("timeoutSeconds", w.TimeoutSeconds, defaultTimeout)
	value, err := p.measure(ctx, r, method, timeout)
	if err != nil {
		return metric.Reading{}, fmt.Errorf("%s: %w", question, metric.Shortened(err, warning))
	}
	reading := metric.Measured(question, value, text(value))
	if warning != "" {
		reading.Metadata[metric.ShortenedTimeout] = warning
	}
	return reading, nil
}

func (p Provider) measure(ctx context.Context, r metric.Request, method string, timeout time.Duration) (any, error) {
	w := r.Metric.Provider.Web
	body, headers, err := payload(w, method)
	if err != nil {
		return nil, err
	}
	answer, err := server.Ask(ctx, server.Question{
		Options: server.Options{
			URL: w.URL, Insecure: w.Insecure, Headers: headers, Authentication: w.Authentication, MostBytes: mostBytes,
			Memory: r.Memory, Network: p.Network,
		},
		Method: method, Body: []byte(body), Timeout: timeout,
		Once: method != http.MethodGet, // it may do something
	})
	switch {
	case err != nil:
		return nil, err
	case !answer.OK():
		return nil, answer.Refusal()
	}
	return find(answer.Body, w.JSONPath, r.Metric.WhenNoData != "")
}

// payload is the body to send, and the headers.
func payload(w *v1alpha1.WebMetric, method string) (body string, headers []v1alpha1.WebMetricHeader, err error) {
	body, headers = w.Body, w.Headers
	if len(w.JSONBody) > 0 {
		if body != "" {
			return "", nil, errors.New("it has both body and jsonBody: remove one of the two")
		}
		body = string(w.JSONBody)
		headers = append([]v1alpha1.WebMetricHeader{{Key: "Content-Type", Value: "application/json"}}, headers...)
	}
	if a := w.Authentication; a != nil && a.BasicAuth != nil && *a.BasicAuth != (v1alpha1.BasicAuthConfig{}) {
		return "", nil, errors.New("authentication.basicAuth is for prometheus only: write a header Authorization")
	}
	if a := w.Authentication; a != nil && (a.Google != nil || a.Sigv4 != nil && *a.Sigv4 != (v1alpha1.Sigv4Config{})) {
		return "", nil, errors.New("authentication.sigv4 and authentication.google are for prometheus only: use oauth2 or headers")
	}
	switch method {
	case http.MethodGet:
		if body != "" {
			return "", nil, errors.New("a body needs method POST or PUT; GET, the default, sends none")
		}
	case http.MethodPost, http.MethodPut:
	default:
		return "", nil, fmt.Errorf("method %s is none of GET, POST and PUT", method)
	}
	return body, headers, nil
}

// find is the first thing that the path finds in an answer. What is not there is an error, unless that is provided for.
func find(body []byte, path string, mayBeMissing bool) (any, error) {
	var data any
	if err := json.Unmarshal(body, &data); err != nil {
		if path != "" && path != "{$}" {
			return nil, fmt.Errorf("the answer is not JSON, in which to look for jsonPath %q: %s", path, excerpt(body))
		}
		return string(body), nil
	}
	if err := affordable(body, path); err != nil {
		return nil, err
	}
	finder := jsonpath.New("result").AllowMissingKeys(mayBeMissing)
	if err := finder.Parse(cmp.Or(path, "{$}")); err != nil {
		return nil, fmt.Errorf("jsonPath %q: %w", path, err)
	}
	found, err := finder.FindResults(data)
	if err != nil {
		return nil, fmt.Errorf("jsonPath %q: %w, in the answer %s", path, err, excerpt(body))
	}
	all := slices.Concat(found...)
	if len(all) == 0 || !all[0].IsValid() || !all[0].CanInterface() {
		return nil, nil
	}
	return all[0].Interface(), nil
}

// mostFound is how many values a path may find where it can find one more than once.
const mostFound = 250_000

// affordable refuses a path that may find each value of an answer many times: with every ".." but the first as often as there are values, and with
// every further key between brackets twice as often. 300 bytes of answer and of path would otherwise take minutes and gigabytes.
func affordable(body []byte, path string) error {
	values := 1 + bytes.Count(body, []byte("[")) + bytes.Count(body, []byte("{")) + bytes.Count(body, []byte(","))
	found := values
	for range max(0, strings.Count(path, "..")-1) {
		found = min(found, mostFound+1) * values
	}
	for range strings.Count(path, ",") {
		found = min(found, mostFound+1) * 2
	}
	if found > values && found > mostFound {
		return fmt.Errorf("jsonPath %q may find each of the answer's %d values many times: write .. at most once, and one key between brackets", path, values)
	}
	return nil
}

func text(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	out, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(out)
}

// excerpt is the beginning of an answer, on one line. It is not cut here but where it is written down: a Secret that was cut in two
// would not be found.
func excerpt(body []byte) string {
	return fmt.Sprintf("%q", strings.Join(strings.Fields(string(body)), " "))
}
