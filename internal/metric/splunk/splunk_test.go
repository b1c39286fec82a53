package splunk

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
	f.Add("event: data\ndata: {\"data\":[{\"tsId\":\"A\",\"value\":1}]}\n\nevent: control-message\ndata: {\"event\":\"END_OF_CHANNEL\"}\n\n")
	f.Add("data: {\"error\":1}")
	f.Fuzz(func(t *testing.T, body string) {
		values, err := parse(server.Answer{Status: 200, Body: []byte(body)})
		if (err == nil) != (len(values) > 0) {
			t.Errorf("%v and %v", values, err)
		}
	})
}
