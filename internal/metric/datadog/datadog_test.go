package datadog

import (
	"testing"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/metrictest"
	"github.com/sluice-delivery/sluice/internal/metric/server"
)

func TestTranscripts(t *testing.T) {
	metrictest.Run(t, "testdata", func(w metrictest.World) metric.Provider {
		return Provider{Clock: clocktesting.NewFakePassiveClock(metrictest.Now), Network: w.Network, Env: w.Env}
	})
}

func FuzzLastPoint(f *testing.F) {
	f.Add(`{"series": [{"pointlist": [[1, 2], [3, null]]}]}`)
	f.Add(`{"series": null}`)
	f.Fuzz(func(t *testing.T, body string) {
		reading, err := lastPoint(server.Answer{Status: 200, Body: []byte(body)})
		if err == nil && reading.Text == "" {
			t.Error("no text, and no error")
		}
	})
}

func FuzzColumns(f *testing.F) {
	f.Add(`{"data": {"attributes": {"columns": [{"type": "group", "values": [["a", "b"]]}, {"type": "number", "values": [1, null]}]}}}`)
	f.Add(`{"data": {"attributes": {"columns": [{"type": "group", "values": []}, {"values": [1]}]}}}`)
	f.Add(`{"errors": ["no"]}`)
	f.Fuzz(func(t *testing.T, body string) {
		reading, err := columns(server.Answer{Status: 200, Body: []byte(body)})
		if err == nil && reading.Text == "" {
			t.Error("no text, and no error")
		}
	})
}
