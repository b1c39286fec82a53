package graphite

import (
	"testing"

	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/metrictest"
	"github.com/sluice-delivery/sluice/internal/metric/server"
)

func TestTranscripts(t *testing.T) {
	metrictest.Run(t, "testdata", func(w metrictest.World) metric.Provider { return Provider{Network: w.Network} })
}

func FuzzParse(f *testing.F) {
	f.Add(`[{"target": "x", "datapoints": [[1, 2], [null, 3], ["4", "5"]]}]`)
	f.Add(`[{"datapoints": [[]]}]`)
	f.Fuzz(func(t *testing.T, body string) {
		values, err := parse(server.Answer{Status: 200, Body: []byte(body)})
		if err == nil && len(values) == 0 {
			t.Error("no values, and no error")
		}
	})
}
