package newrelic

import (
	"testing"

	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/metrictest"
	"github.com/sluice-delivery/sluice/internal/metric/server"
)

func TestTranscripts(t *testing.T) {
	metrictest.Run(t, "testdata", func(w metrictest.World) metric.Provider { return Provider{Network: w.Network} })
}

func FuzzRows(f *testing.F) {
	f.Add(`{"data": {"actor": {"account": {"nrql": {"results": [{"count": 1}]}}}}}`)
	f.Add(`{"data": {"actor": null}, "errors": []}`)
	f.Fuzz(func(t *testing.T, body string) {
		data, err := server.Data(server.Answer{Status: 200, Body: []byte(body)})
		if err != nil {
			return
		}
		if value, text, err := rows(data); err == nil && (value == nil || text == "") {
			t.Error("no value, and no error")
		}
	})
}
