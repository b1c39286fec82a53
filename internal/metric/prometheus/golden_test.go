package prometheus

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"k8s.io/utils/clock"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/prometheus/prometheustest"
)

// series are the labels with which a router counts the requests of a version, good and failed, and their durations.
type series struct{ requests, durations, of, good, failed string }

// versions are the canary, the stable version and a version that only fails, as each router names them, by the name of the Service.
func versions(router v1alpha1.GoldenRouter, name string) series {
	switch router {
	case v1alpha1.GoldenIstio:
		of := fmt.Sprintf(`reporter="destination",destination_service_namespace="shop",destination_service_name=%q`, name)
		return series{"istio_requests_total", "istio_request_duration_milliseconds", of, `response_code="200"`, `response_code="503"`}
	case v1alpha1.GoldenLinkerd:
		of := fmt.Sprintf(`direction="inbound",namespace="shop",rollouts_pod_template_hash=%q`, name)
		return series{"response_total", "response_latency_ms", of, `classification="success"`, `classification="failure"`}
	case v1alpha1.GoldenNginx:
		of := fmt.Sprintf(`namespace="shop",ingress="web",canary="%s"`, map[string]string{"web-canary": "shop-web-canary-80"}[name])
		if name == "web-broken" {
			of = `namespace="shop",ingress="broken",canary="shop-web-broken-80"`
		}
		return series{"nginx_ingress_controller_requests", "nginx_ingress_controller_request_duration_seconds", of, `status="200"`, `status="500"`}
	case v1alpha1.GoldenTraefik:
		of := fmt.Sprintf(`service="shop-%s-80@kubernetescrd"`, name)
		return series{"traefik_service_requests_total", "traefik_service_request_duration_seconds", of, `code="200"`, `code="502"`}
	case v1alpha1.GoldenContour:
		of := fmt.Sprintf(`envoy_cluster_name="shop_%s_80"`, name)
		return series{"envoy_cluster_upstream_rq", "envoy_cluster_upstream_rq_time", of, `envoy_response_code="200"`, `envoy_response_code="500"`}
	}
	panic(router)
}

var goldenRouters = []v1alpha1.GoldenRouter{
	v1alpha1.GoldenIstio, v1alpha1.GoldenLinkerd, v1alpha1.GoldenNginx, v1alpha1.GoldenTraefik, v1alpha1.GoldenContour,
}

// traffic exposes what routers do: between two scrapes, the canary gets 10 requests, of which 2 fail and which take between 0.2 and 0.4 seconds,
// the stable version 100, which take less than 0.1, and the broken version 10, which all fail.
func traffic(t *testing.T) string {
	var scrapes atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := scrapes.Add(1)
		for _, router := range goldenRouters {
			for _, v := range []struct {
				name         string
				good, failed int64
				fast         bool
			}{{"web-canary", 8, 2, false}, {"web-stable", 100, 0, true}, {"web-broken", 0, 10, false}} {
				s := versions(router, v.name)
				if v.good > 0 {
					_, _ = fmt.Fprintf(w, "%s{%s,%s} %d\n", s.requests, s.of, s.good, n*v.good)
				}
				if v.failed > 0 {
					_, _ = fmt.Fprintf(w, "%s{%s,%s} %d\n", s.requests, s.of, s.failed, n*v.failed)
				}
				unit, fast := 1., int64(0)
				if router != v1alpha1.GoldenNginx && router != v1alpha1.GoldenTraefik {
					unit = 1000
				}
				if v.fast {
					fast = v.good
				}
				for _, bucket := range []struct {
					le    string
					count int64
				}{{fmt.Sprint(.1 * unit), fast}, {fmt.Sprint(.2 * unit), fast}, {fmt.Sprint(.4 * unit), v.good + v.failed}, {"+Inf", v.good + v.failed}} {
					_, _ = fmt.Fprintf(w, "%s_bucket{%s,le=%q} %d\n", s.durations, s.of, bucket.le, n*bucket.count)
				}
			}
		}
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// TestGoldenSignals asks a real Prometheus with the queries that are shipped for each router.
func TestGoldenSignals(t *testing.T) {
	address := prometheustest.Start(t, traffic(t))
	prometheustest.WaitFor(t, address, `count_over_time(istio_requests_total{destination_service_name="web-canary",response_code="200"}[1m]) >= 6`)
	p := Provider{Network: here, Clock: clock.RealClock{}, Address: address}
	for _, router := range goldenRouters {
		target := v1alpha1.GoldenTarget{Router: router, Namespace: "shop", Canary: "web-canary", Stable: "web-stable", Ingress: "web"}
		m := v1alpha1.Metric{GoldenTarget: &target, Provider: v1alpha1.MetricProvider{Prometheus: &v1alpha1.PrometheusMetric{}}}
		for signal, want := range map[v1alpha1.GoldenSignal]float64{
			v1alpha1.GoldenRequestSuccessRate: .8, v1alpha1.GoldenRequestDurationP50: .3, v1alpha1.GoldenRequestDurationP95: .39,
		} {
			m.Golden = signal
			reading, err := p.Measure(t.Context(), metric.Request{Metric: m})
			if values, ok := reading.Value.([]float64); err != nil || !ok || len(values) != 1 || math.Abs(values[0]-want) > .001 {
				t.Errorf("%s, %s: %v %v, want %.2f", router, signal, reading.Value, err, want)
			}
		}
		m.Golden = v1alpha1.GoldenRequestSuccessRate
		broken := target
		broken.Canary, broken.Ingress = "web-broken", map[bool]string{true: "broken", false: "web"}[router == v1alpha1.GoldenNginx]
		m.GoldenTarget = &broken
		if reading, err := p.Measure(t.Context(), metric.Request{Metric: m}); err != nil || reading.Text != "[0]" {
			t.Errorf("%s, all requests fail: %s %v, want [0]", router, reading.Text, err)
		}
		silent := target
		silent.Namespace = "elsewhere"
		m.GoldenTarget = &silent
		if reading, err := p.Measure(t.Context(), metric.Request{Metric: m}); err != nil || reading.Text != "[]" {
			t.Errorf("%s, no requests: %s %v, want []", router, reading.Text, err)
		}
	}
	t.Run("compared", func(t *testing.T) {
		for _, router := range goldenRouters {
			m := v1alpha1.Metric{
				Golden:       v1alpha1.GoldenRequestDurationP95,
				GoldenTarget: &v1alpha1.GoldenTarget{Router: router, Namespace: "shop", Canary: "web-canary", Stable: "web-stable", Ingress: "web"},
				Comparison:   &v1alpha1.Comparison{Window: "10s", Step: "1s", BeforeRun: true, MinSamples: new(int32(5))},
				Provider:     v1alpha1.MetricProvider{Prometheus: &v1alpha1.PrometheusMetric{}},
			}
			prometheustest.WaitFor(t, address, `count_over_time(istio_requests_total{destination_service_name="web-canary",response_code="200"}[1m]) >= 8`)
			reading, err := p.Measure(t.Context(), metric.Request{Metric: m})
			if err != nil || reading.Phase != v1alpha1.AnalysisPhaseFailed {
				t.Errorf("%s: %s %s %s %v, want the canary to fail", router, reading.Phase, reading.Text, reading.Message, err)
			}
		}
	})
}
