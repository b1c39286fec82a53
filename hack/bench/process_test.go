//go:build linux

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestMetric(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `# TYPE go_goroutines gauge
go_goroutines 444
go_goroutines_peak 500
reconcile_total{controller="rollout",result="success"} 1.5e+01
reconcile_total{controller="rollout",result="error"} 2
reconcile_total{controller="experiment",result="success"} 7
`)
	}))
	defer server.Close()
	p := &process{metrics: server.URL}
	for _, c := range []struct {
		name, label string
		want        float64
	}{
		{"go_goroutines", "", 444},
		{"reconcile_total", `="rollout"`, 17},
		{"reconcile_total", "", 24},
		{"go_goroutines", `="rollout"`, 0},
		{"missing", "", 0},
	} {
		if got := p.metric(c.name, c.label); got != c.want {
			t.Errorf("%s with %q is %g, want %g", c.name, c.label, got, c.want)
		}
	}
}
