package kayenta

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
	f.Add(`{"complete": true, "result": {"judgeResult": {"score": {"score": 90}}}}`)
	f.Add(`{"complete": true, "result": {"judgeResult": {"score": {"score": 1e400}}}}`)
	f.Add(`{"complete": true, "exception": {"details": {}}}`)
	f.Fuzz(func(t *testing.T, body string) {
		score, done, err := parse(server.Answer{Status: 200, Body: []byte(body)})
		if err == nil && !done && score != 0 {
			t.Error("a score of what is not done")
		}
	})
}
