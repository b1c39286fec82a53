// Command connect is a metric plugin: it connects to an address, and fails if that takes too long. A sample to begin one's own with.
//
//	provider:
//	  plugin:
//	    samples/connect: {address: "db.shop:5432", within: 200ms}
package main

import (
	"encoding/json"
	"fmt"
	"net"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/plugin"
	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// name is the one under which the administrator lists the plugin.
const name = "samples/connect"

func main() { plugin.ServeMetric(connect{}) }

// settings are what stands below the plugin's name in a metric.
type settings struct {
	Address string `json:"address"`
	Within  string `json:"within"`
}

type connect struct{}

func (connect) Init() error { return nil }

// Run measures, and judges what it measured: the metric's conditions are not asked.
func (connect) Run(_ *v1alpha1.AnalysisRun, m v1alpha1.Metric) v1alpha1.Measurement {
	began := metav1.Now()
	out := v1alpha1.Measurement{StartedAt: &began}
	took, err := try(m.Provider.Plugin[name])
	ended := metav1.Now()
	out.FinishedAt = &ended
	switch {
	case took.limit == 0:
		out.Phase, out.Message = v1alpha1.AnalysisPhaseError, err.Error() // the settings are wrong
	case err != nil:
		out.Phase, out.Message = v1alpha1.AnalysisPhaseFailed, err.Error()
	default:
		out.Phase, out.Value = v1alpha1.AnalysisPhaseSuccessful, took.time.Round(time.Microsecond).String()
	}
	return out
}

// attempt is how long it took, and how long it may take.
type attempt struct{ time, limit time.Duration }

func try(config json.RawMessage) (attempt, error) {
	var s settings
	if err := json.Unmarshal(config, &s); err != nil {
		return attempt{}, fmt.Errorf("settings of %s: %w", name, err)
	}
	limit, err := time.ParseDuration(s.Within)
	if err != nil || limit <= 0 {
		return attempt{}, fmt.Errorf("within %q: write for example 200ms", s.Within)
	}
	began := time.Now()
	conn, err := net.DialTimeout("tcp", s.Address, limit)
	if err != nil {
		return attempt{limit: limit}, err
	}
	return attempt{time.Since(began), limit}, conn.Close()
}

// Resume, Terminate and GarbageCollect are for plugins whose measurements take their time.
func (connect) Resume(_ *v1alpha1.AnalysisRun, _ v1alpha1.Metric, begun v1alpha1.Measurement) v1alpha1.Measurement {
	return begun
}

func (connect) Terminate(_ *v1alpha1.AnalysisRun, _ v1alpha1.Metric, begun v1alpha1.Measurement) v1alpha1.Measurement {
	return begun
}

func (connect) GarbageCollect(*v1alpha1.AnalysisRun, v1alpha1.Metric, int) error { return nil }

// GetMetadata is what users see of the metric.
func (connect) GetMetadata(m v1alpha1.Metric) map[string]string {
	var s settings
	if json.Unmarshal(m.Provider.Plugin[name], &s) != nil {
		return nil
	}
	return map[string]string{"address": s.Address}
}
