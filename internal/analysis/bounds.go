package analysis

import "github.com/sluice-delivery/sluice/api/v1alpha1"

// withinLimits shortens timeouts, and keeps fewer measurements, where templates ask for more than an AnalysisRun may have. The API server
// refuses such templates; those that were stored before there were limits must not keep a Rollout from being analyzed.
func withinLimits(run v1alpha1.AnalysisRunSpec) v1alpha1.AnalysisRunSpec {
	for i := range run.Metrics {
		provider := &run.Metrics[i].Provider
		if p := provider.Prometheus; p != nil && p.Timeout != nil {
			p.Timeout = new(min(*p.Timeout, v1alpha1.MaxTimeoutSeconds))
		}
		if w := provider.Web; w != nil {
			w.TimeoutSeconds = min(w.TimeoutSeconds, v1alpha1.MaxTimeoutSeconds)
		}
	}
	for i := range run.MeasurementRetention {
		r := &run.MeasurementRetention[i]
		r.Limit = min(r.Limit, v1alpha1.MaxMeasurementRetention)
	}
	return run
}
