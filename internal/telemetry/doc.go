// Package telemetry is what the controller tells Prometheus.
//
// Names and labels are those that dashboards and alerts for upstream's controller use. What happens is counted as it happens, by
// [Meters]; what there is, such as the phase of every Rollout, is read from the caches when somebody asks, by [Objects], so that
// nothing is left over of what is gone.
//
// Histograms and counts of requests leave the labels of single objects empty unless they are asked for: ten thousand objects would
// make hundreds of thousands of series.
//
// What must not be here: anything that decides, and any request to the API server.
package telemetry
