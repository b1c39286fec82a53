// Package job measures by a Kubernetes Job: it passes if the Job completes, and does not pass if the Job fails.
//
// A measurement is recorded before its Job is created, under a name that follows from the AnalysisRun, the metric and the number of the
// measurement. So a controller that dies in between finds the Job again, and none is left that nobody knows of.
//
// The status of an AnalysisRun is input that a tenant may have written. So where a Job is created follows from the AnalysisRun and this
// controller's configuration alone ([Provider.Measure]), and no Job is looked at or deleted that is not the AnalysisRun's by its UID.
//
// What must not be here: a Kubernetes client. What is needed of a cluster are the four methods of [Jobs].
package job
