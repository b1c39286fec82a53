package kayenta

import (
	"errors"
	"net/http"
	"testing"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
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

// TestPollsThatFailAreBounded: a Kayenta that never answers ends the measurement after five minutes.
func TestPollsThatFailAreBounded(t *testing.T) {
	begun := &v1alpha1.Measurement{Metadata: map[string]string{executionKey: "01ABC"}}
	p := Provider{Clock: clocktesting.NewFakePassiveClock(metrictest.Now), Network: server.Over(unreachable{})}
	r := metric.Request{Begun: begun, Metric: v1alpha1.Metric{Provider: v1alpha1.MetricProvider{Kayenta: &v1alpha1.KayentaMetric{Address: "http://kayenta"}}}}
	for poll := 1; ; poll++ {
		reading, err := p.Resume(t.Context(), r)
		if err != nil {
			if poll != mostFailures+1 {
				t.Errorf("poll %d: %v, want %d that are repeated", poll, err, mostFailures)
			}
			return
		}
		if reading.Phase != v1alpha1.AnalysisPhaseRunning || poll > mostFailures {
			t.Fatalf("poll %d: %+v", poll, reading)
		}
		begun.Metadata = reading.Metadata
	}
}

type unreachable struct{}

func (unreachable) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("no route")
}
