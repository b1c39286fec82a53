// Package kubernetes measures by the external and custom metrics APIs of Kubernetes, which the autoscaler reads: whatever an adapter such as KEDA or
// prometheus-adapter serves there. The value is a list of numbers. Only the namespace of the AnalysisRun is read.
package kubernetes
