package skywalking

import (
	"testing"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/metrictest"
)

func TestTranscripts(t *testing.T) {
	metrictest.Run(t, "testdata", func(w metrictest.World) metric.Provider {
		return Provider{Clock: clocktesting.NewFakePassiveClock(metrictest.Now), Network: w.Network}
	})
}

func FuzzResult(f *testing.F) {
	f.Add(`{"x": 1}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, body string) {
		if value, text, err := result([]byte(body)); err == nil && (len(value) == 0 || text == "") {
			t.Error("no value, and no error")
		}
	})
}
