package prometheus

import (
	"fmt"
	"io"
	"log"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/prometheus/prometheustest"
	"github.com/sluice-delivery/sluice/internal/metric/server"
)

// exporter is what Prometheus scrapes: an error rate, and what is not a number.
func exporter(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, `
error_rate{version="1"} 0.25
error_rate{version="2"} 0.5
not_a_number NaN
without_end +Inf
`)
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// here is the servers of this machine.
var here = server.NewNetwork(server.Reach{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})

func measure(t *testing.T, p Provider, m v1alpha1.PrometheusMetric) (metric.Reading, error) {
	return p.Measure(t.Context(), metric.Request{Metric: v1alpha1.Metric{Provider: v1alpha1.MetricProvider{Prometheus: &m}}})
}

func TestAgainstARealPrometheus(t *testing.T) {
	address := prometheustest.Start(t, exporter(t))
	p := Provider{Network: here, Clock: clock.RealClock{}, Address: address}
	prometheustest.WaitFor(t, address, "count_over_time(error_rate[1m]) >= 3")
	for name, c := range map[string]struct {
		metric v1alpha1.PrometheusMetric
		value  any
		text   string // or the beginning of the error
	}{
		"a vector":          {v1alpha1.PrometheusMetric{Query: "sort(error_rate)"}, []float64{0.25, 0.5}, "[0.25,0.5]"},
		"one of a vector":   {v1alpha1.PrometheusMetric{Query: `error_rate{version="2"}`}, []float64{0.5}, "[0.5]"},
		"a scalar":          {v1alpha1.PrometheusMetric{Query: "scalar(sum(error_rate))"}, 0.75, "0.75"},
		"an empty vector":   {v1alpha1.PrometheusMetric{Query: "nothing_of_that_name"}, []float64{}, "[]"},
		"infinity":          {v1alpha1.PrometheusMetric{Query: "without_end"}, []float64{math.Inf(1)}, "[+Inf]"},
		"a text":            {v1alpha1.PrometheusMetric{Query: `"text"`}, nil, "error: query `\"text\"`:" + ` the result is a text, which cannot be judged`},
		"a query of words":  {v1alpha1.PrometheusMetric{Query: "how many errors"}, nil, "error: query `how many errors`" + `: bad_data: `},
		"a matrix":          {v1alpha1.PrometheusMetric{Query: `error_rate{version="2"}[1m]`}, nil, ""},
		"another server":    {v1alpha1.PrometheusMetric{Query: "up", Address: "http://127.0.0.1:1"}, nil, "error: query `up`" + `: dial tcp 127.0.0.1:1: connect: connection refused`},
		"no URL":            {v1alpha1.PrometheusMetric{Query: "up", Address: "prometheus:9090"}, nil, "error: query `up`" + `: address "prometheus:9090" is not a URL of a server`},
		"range: no time":    {v1alpha1.PrometheusMetric{Query: "up", RangeQuery: &v1alpha1.PrometheusRangeQuery{Start: "5", End: "now()", Step: "1s"}}, nil, "error: query `up`" + ` from 5 to now(): rangeQuery.start "5": it gives 5, which is no time`},
		"range: no step":    {v1alpha1.PrometheusMetric{Query: "up", RangeQuery: &v1alpha1.PrometheusRangeQuery{Start: "now()", End: "now()", Step: "often"}}, nil, "error: query `up`" + ` from now() to now(): rangeQuery.step "often" is not a duration`},
		"range: backwards":  {v1alpha1.PrometheusMetric{Query: "up", RangeQuery: &v1alpha1.PrometheusRangeQuery{Start: "now()", End: `now() - duration("1m")`, Step: "1s"}}, nil, "error: query `up`" + ` from now() to now() - duration("1m"): rangeQuery ends before it starts`},
		"range: too fine":   {v1alpha1.PrometheusMetric{Query: "up", RangeQuery: &v1alpha1.PrometheusRangeQuery{Start: `now() - duration("24h")`, End: "now()", Step: "1s"}}, nil, "error: query `up`" + ` from now() - duration("24h") to now(): bad_data: exceeded maximum resolution`},
		"signatures of AWS": {v1alpha1.PrometheusMetric{Query: "up", Authentication: &v1alpha1.Authentication{Sigv4: &v1alpha1.Sigv4Config{Region: "eu-west-1"}}}, nil, "error: query `up`" + `: authentication.sigv4 is for addresses such as https://aps-workspaces.`},
	} {
		t.Run(name, func(t *testing.T) {
			reading, err := measure(t, p, c.metric)
			got := reading.Text
			if err != nil {
				got = "error: " + err.Error()
			}
			if !strings.HasPrefix(got, c.text) || c.value != nil && !reflect.DeepEqual(reading.Value, c.value) {
				t.Errorf("%s with %#v; want %s with %#v", got, reading.Value, c.text, c.value)
			}
			if err == nil && reading.About[ResolvedQuery] != c.metric.Query {
				t.Errorf("the result reports the query %v", reading.About)
			}
		})
	}
	t.Run("not a number", func(t *testing.T) {
		reading, err := measure(t, p, v1alpha1.PrometheusMetric{Query: "not_a_number"})
		if values, ok := reading.Value.([]float64); err != nil || !ok || len(values) != 1 || !math.IsNaN(values[0]) || reading.Text != "[NaN]" {
			t.Errorf("%#v %s %v, want NaN", reading.Value, reading.Text, err)
		}
	})
	t.Run("a range", func(t *testing.T) {
		reading, err := measure(t, p, v1alpha1.PrometheusMetric{Query: "error_rate", RangeQuery: &v1alpha1.PrometheusRangeQuery{
			Start: `now() - duration("2s")`, End: "now()", Step: "1s",
		}})
		values, ok := reading.Value.([]float64)
		if err != nil || !ok || len(values) < 2 {
			t.Fatalf("%#v %v, want the points of two series", reading.Value, err)
		}
	})
	t.Run("no address", func(t *testing.T) {
		_, err := measure(t, Provider{Network: here, Clock: clock.RealClock{}}, v1alpha1.PrometheusMetric{Query: "up"})
		if err == nil || !strings.Contains(err.Error(), AddressVariable) {
			t.Errorf("%v, want an error that names %s", err, AddressVariable)
		}
	})
	t.Run("a comparison", func(t *testing.T) {
		prometheustest.WaitFor(t, address, "count_over_time(error_rate[1m]) >= 6")
		m := v1alpha1.Metric{
			Comparison: &v1alpha1.Comparison{Window: "10s", Step: "1s", BeforeRun: true, MinSamples: new(int32(5)), Signals: []v1alpha1.ComparisonSignal{
				{Name: "errors", Canary: `error_rate{version="2"}`, Baseline: `error_rate{version="1"}`, Direction: v1alpha1.ComparisonIncrease},
			}},
			Provider: v1alpha1.MetricProvider{Prometheus: &v1alpha1.PrometheusMetric{}},
		}
		reading, err := p.Measure(t.Context(), metric.Request{Metric: m})
		if want := "errors: high: mean 0.5, baseline 0.25 (+100.0%)"; err != nil || reading.Phase != v1alpha1.AnalysisPhaseFailed || !strings.Contains(reading.Message, want) {
			t.Errorf("%s %s: %s %v; want it failed with %q", reading.Phase, reading.Text, reading.Message, err, want)
		}
	})
	t.Run("behind a guard", func(t *testing.T) { behindAGuard(t, address) })
}

// behindAGuard puts a proxy with a certificate of its own before the real server, which lets only those pass who prove who they are.
func behindAGuard(t *testing.T, address string) {
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	pass := httputil.NewSingleHostReverseProxy(target)
	guard := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			id, secret, _ := r.BasicAuth()
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"access_token": "%s-%s", "token_type": "bearer"}`, id, secret)
			return
		}
		user, password, _ := r.BasicAuth()
		switch {
		case user == "me" && password == "mine", r.Header.Get("Authorization") == "Bearer me-mine", r.Header.Get("X-Scope-OrgID") == "tenant":
			pass.ServeHTTP(w, r)
		default:
			http.Error(w, "who are you?", http.StatusUnauthorized)
		}
	}))
	guard.Config.ErrorLog = log.New(io.Discard, "", 0)
	guard.StartTLS()
	t.Cleanup(guard.Close)
	p := Provider{Network: here, Clock: clock.RealClock{}, Address: guard.URL}
	query := func(m v1alpha1.PrometheusMetric) string {
		m.Query = "scalar(sum(error_rate))"
		reading, err := measure(t, p, m)
		if err != nil {
			return err.Error()
		}
		return reading.Text
	}
	for name, c := range map[string]struct {
		metric v1alpha1.PrometheusMetric
		want   string
	}{
		"a certificate that nobody signed": {v1alpha1.PrometheusMetric{}, "certificate"},
		"nobody":                           {v1alpha1.PrometheusMetric{Insecure: true}, "client_error: client error: 401: \"who are you?\""},
		"basic":                            {v1alpha1.PrometheusMetric{Insecure: true, Authentication: &v1alpha1.Authentication{BasicAuth: &v1alpha1.BasicAuthConfig{Username: "me", Password: "mine"}}}, "0.75"},
		"bearer":                           {v1alpha1.PrometheusMetric{Insecure: true, Headers: []v1alpha1.WebMetricHeader{{Key: "Authorization", Value: "Bearer me-mine"}}}, "0.75"},
		"a header":                         {v1alpha1.PrometheusMetric{Insecure: true, Headers: []v1alpha1.WebMetricHeader{{Key: "X-Scope-OrgID", Value: "tenant"}}}, "0.75"},
		"OAuth2":                           {v1alpha1.PrometheusMetric{Insecure: true, Authentication: &v1alpha1.Authentication{OAuth2: &v1alpha1.OAuth2Config{TokenURL: guard.URL + "/token", ClientID: "me", ClientSecret: "mine"}}}, "0.75"},
	} {
		if got := query(c.metric); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestAServerThatDoesNotAnswer(t *testing.T) {
	done := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-done }))
	t.Cleanup(func() { close(done); s.Close() })
	began := time.Now()
	_, err := measure(t, Provider{Network: here, Clock: clock.RealClock{}}, v1alpha1.PrometheusMetric{Query: "up", Address: s.URL, Timeout: new(int64(1))})
	if err == nil || !strings.Contains(err.Error(), "no answer within 1s") {
		t.Errorf("%v after %s", err, time.Since(began))
	}
}
