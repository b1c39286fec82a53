package elasticsearch

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
	f.Add(`{"columns":[{"name":"errors","type":"long"}],"values":[[3]]}`)
	f.Add(`{"columns":[],"values":[[]]}`)
	f.Fuzz(func(t *testing.T, body string) {
		if value, err := rows(server.Answer{Status: 200, Body: []byte(body)}); (err == nil) != (value != nil) {
			t.Errorf("%v and %v", value, err)
		}
	})
}

func FuzzFound(f *testing.F) {
	f.Add(`{"hits":{"total":{"value":3,"relation":"eq"}},"aggregations":{"p":{"values":{"95.0":1.5}}}}`)
	f.Add(`{"hits":{"total":3}}`)
	f.Fuzz(func(t *testing.T, body string) {
		if value, err := found(server.Answer{Status: 200, Body: []byte(body)}); (err == nil) != (value != nil) {
			t.Errorf("%v and %v", value, err)
		}
	})
}
