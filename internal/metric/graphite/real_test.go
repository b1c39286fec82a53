package graphite

import (
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/metrictest"
	"github.com/sluice-delivery/sluice/internal/metric/server"
)

// TestARealGraphite asks that of Debian, whose Python is the system's.
func TestARealGraphite(t *testing.T) {
	script, err := filepath.Abs("testdata/serve.py")
	if err != nil {
		t.Fatal(err)
	}
	address := metrictest.Real{
		Package: "graphite-web", Program: "graphite-manage", Ready: "/render?target=stats.shop.errors&format=json",
		Command: func(_, folder string, port int) *exec.Cmd {
			return exec.Command("/usr/bin/python3", script, folder, strconv.Itoa(port))
		},
	}.Start(t)
	provider := Provider{Network: server.Over(http.DefaultTransport)}
	for name, c := range map[string]struct{ query, want, err string }{
		"values without the nulls":           {"target=stats.shop.errors&from=-6min", "[0.010000,0.030000]", ""},
		"a function, over lines":             {"target=scale(stats.shop.errors,\n 100)\n&from=-6min", "[1.000000,3.000000]", ""},
		"a series without values":            {"target=stats.shop.silent&from=-6min", "", "no values found"},
		"a series that is not there":         {"target=stats.shop.nothing&from=-6min", "", "no values found"},
		"a function that is not there":       {"target=nofunction(stats.shop.errors)&from=-6min", "", "error response: it answered 400"},
		"no query but a time, and no target": {"from=-6min", "", "no values found"},
	} {
		t.Run(name, func(t *testing.T) {
			reading, err := provider.Measure(t.Context(), metric.Request{Metric: v1alpha1.Metric{Provider: v1alpha1.MetricProvider{
				Graphite: &v1alpha1.GraphiteMetric{Address: address, Query: c.query},
			}}})
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) || reading.Text != c.want {
				t.Errorf("%q, %v, want %q, %q", reading.Text, err, c.want, c.err)
			}
		})
	}
}
