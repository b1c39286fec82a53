// Package metric is what providers of measurements have in common: [Provider] and its second interfaces.
//
// A provider is asked with everything filled in and answers with what it found:
//
//	Request (a metric, its arguments resolved) ──► Measure ──► Reading (a value, to be judged by the metric's conditions)
//	                                                     └──► Reading that is Running ──► Resume … ──► Reading with a verdict
//
// There is one package for each provider, and registry has the list of them. What must not be here, and in no provider: Kubernetes
// clients (the job provider gets a small port; Secrets that a metric names are read through [Keys]), judging by conditions, deciding when to measure.
package metric
