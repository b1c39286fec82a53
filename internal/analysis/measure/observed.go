package measure

import (
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric"
)

// Observed is all that a decision about an AnalysisRun depends on.
type Observed struct {
	Now time.Time
	Run *v1alpha1.AnalysisRun
	// Providers are the names of those that this version has.
	Providers []string
	// Arguments are those that have to be looked up, nil before they have been: [Plan.NeedsArguments] asks for them.
	Arguments *Arguments
	// Results are of measurements that came back and may not be in the status yet.
	Results []Result
	// Busy are the names of the metrics that are being measured at this moment.
	Busy []string
}

// Arguments are values from Secrets and ConfigMaps.
type Arguments struct {
	// Values by the names of the arguments.
	Values map[string]string
	// Hidden are the names of those whose values must not be shown.
	Hidden []string
	// Problem is why one of them cannot be had, empty if all can. It ends the run.
	Problem string
}

// Task is something to do with a measurement.
type Task struct {
	metric.Request
	// Secrets are values that must not be shown.
	Secrets Secrets
}

// Result is what came of a task.
type Result struct {
	Task
	StartedAt, FinishedAt time.Time
	Reading               metric.Reading
	// Err is why there is no reading, empty if there is one.
	Err string
	// Canceled: there is none because it was no longer wanted.
	Canceled bool
}
