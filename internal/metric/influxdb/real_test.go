package influxdb

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/metrictest"
	"github.com/sluice-delivery/sluice/internal/metric/server"
)

// TestARealInfluxDB asks that of Debian, which is 1.6 and has no Flux. The measurement says which one does.
func TestARealInfluxDB(t *testing.T) {
	address := metrictest.Real{
		Package: "influxdb", Program: "influxd", Ready: "/ping",
		Command: func(program, folder string, port int) *exec.Cmd {
			cmd := exec.Command(program)
			cmd.Env = append(os.Environ(), "INFLUXDB_REPORTING_DISABLED=true", "INFLUXDB_BIND_ADDRESS=127.0.0.1:0",
				"INFLUXDB_META_DIR="+folder+"/meta", "INFLUXDB_DATA_DIR="+folder+"/data", "INFLUXDB_DATA_WAL_DIR="+folder+"/wal",
				"INFLUXDB_HTTP_BIND_ADDRESS=127.0.0.1:"+strconv.Itoa(port))
			return cmd
		},
	}.Start(t)
	keys := &metric.Keys{Read: func(context.Context, string, string) (map[string]string, error) {
		return map[string]string{"address": address, "authToken": "t", "org": "o"}, nil
	}}
	_, err := Provider{Network: server.Over(http.DefaultTransport)}.Measure(t.Context(), metric.Request{Keys: keys, Metric: v1alpha1.Metric{Provider: v1alpha1.MetricProvider{
		Influxdb: &v1alpha1.InfluxdbMetric{Query: `from(bucket: "shop") |> range(start: -5m)`},
	}}})
	if err == nil || !strings.Contains(err.Error(), "404") || !strings.Contains(err.Error(), "Flux needs InfluxDB 2, or 1.8 with flux-enabled") {
		t.Errorf("%v", err)
	}
}
