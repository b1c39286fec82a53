package wavefront

import (
	"testing"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/metrictest"
	"github.com/sluice-delivery/sluice/internal/metric/server"
)

func TestTranscripts(t *testing.T) {
	metrictest.Run(t, "testdata", func(w metrictest.World) metric.Provider {
		return Provider{Clock: clocktesting.NewFakePassiveClock(metrictest.Now), Network: w.Network}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(`{"timeseries": [{"data": [[1, 2]]}, {"data": [[1, null]]}]}`)
	f.Add(`{"timeseries": [{"data": [[1e300, 2]]}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		reading, err := parse(server.Answer{Status: 200, Body: []byte(body)}, 1786978800)
		if err == nil && (reading.Value == nil || reading.Text == "") {
			t.Error("no value, and no error")
		}
	})
}
