package loki

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
	f.Add(`{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"2"]}]}}`)
	f.Add(`{"status":"success","data":{"resultType":"scalar","result":[1,"NaN"]}}`)
	f.Add(`{"status":"success","data":{"resultType":"vector","result":[{"value":[]}]}}`)
	f.Fuzz(func(t *testing.T, body string) {
		values, err := parse(server.Answer{Status: 200, Body: []byte(body)})
		if (err == nil) != (len(values) > 0) {
			t.Errorf("%v and %v", values, err)
		}
	})
}
