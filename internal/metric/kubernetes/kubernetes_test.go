package kubernetes

import (
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/metrictest"
	"github.com/sluice-delivery/sluice/internal/metric/server"
)

func TestTranscripts(t *testing.T) {
	metrictest.Run(t, "testdata", func(w metrictest.World) metric.Provider {
		return Provider{Cluster{Address: "https://kubernetes", Network: w.Network}}
	})
}

func TestWithoutACluster(t *testing.T) {
	_, err := Provider{}.Measure(t.Context(), metric.Request{Metric: v1alpha1.Metric{Provider: v1alpha1.MetricProvider{Kubernetes: &v1alpha1.KubernetesMetric{Metric: "x"}}}})
	if err == nil || !strings.Contains(err.Error(), "no cluster is known") {
		t.Errorf("%v", err)
	}
}

// TestOneNamespaceOnly: whatever the names are, the path stays in the namespace of the AnalysisRun.
func TestOneNamespaceOnly(t *testing.T) {
	names := []string{"..", ".", "", "a/../../other", "../../other", "a/b", "%2e%2e", "a%2fb", "*", "a?b", "a#b", "ä", " ", "namespaces", "namespaces.v1"}
	asked := 0
	for _, metric := range names {
		for _, object := range []*v1alpha1.KubernetesMetricObject{nil, {Resource: metric, Name: "x"}, {Resource: "services", Name: metric}} {
			q, err := newQuestion(&v1alpha1.KubernetesMetric{Metric: metric, Object: object}, "shop")
			if err != nil {
				continue
			}
			asked++
			path, _, _ := strings.Cut(q.path, "?")
			rest, inside := strings.CutPrefix(path, "/apis/"+q.version+"/namespaces/shop/")
			parts := strings.Split(rest, "/")
			want := 1
			if object != nil {
				want = 3
			}
			if !inside || len(parts) != want || strings.Contains(path, "..") || parts[0] == "namespaces" && object != nil {
				t.Errorf("%q of %v: %s", metric, object, q.path)
			}
		}
	}
	if asked == 0 {
		t.Error("nothing was asked")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"items":[{"value":"5","timestamp":"2026-08-17T15:04:05Z"}]}`)
	f.Add(`{"items":[{"value":"1500m"},{"value":2}]}`)
	f.Add(`{"items":[{"value":null}]}`)
	f.Add(`{"kind":"Status","message":"no","status":"Failure"}`)
	f.Fuzz(func(t *testing.T, body string) {
		answer := server.Answer{Status: 200, Body: []byte(body)}
		values, _, err := parse(answer)
		if (err == nil) != (len(values) > 0) {
			t.Errorf("%v and %v", values, err)
		}
		answer.Status = 403
		if refusal(answer, externalVersion) == nil {
			t.Error("no error")
		}
	})
}
