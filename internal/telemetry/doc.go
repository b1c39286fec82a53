// Package telemetry is what the controller tells Prometheus.
//
// Names and labels are those that dashboards and alerts for Argo Rollouts use. Events are counted as they happen, by
// [Meters]; state, such as the phase of every Rollout, is read from the caches at each scrape, by [Objects], so that nothing
// remains of deleted objects.
//
// Histograms and counts of requests leave the labels of single objects empty unless they are asked for: ten thousand objects would
// make hundreds of thousands of series.
//
// What must not be here: anything that decides, and any request to the API server.
package telemetry
