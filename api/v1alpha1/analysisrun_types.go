package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AnalysisRun measures and evaluates the metrics of one or more templates once, with the values of all
// arguments set.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=analysisruns,shortName=ar
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.phase`,description="How the run is doing or ended"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type AnalysisRun struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What to measure and how to evaluate it.
	Spec AnalysisRunSpec `json:"spec"`

	// What has been measured and how it was evaluated.
	// +optional
	Status AnalysisRunStatus `json:"status,omitempty,omitzero"`

	// What of the stored object does not fit the API, and is therefore empty in Spec or Status.
	Unreadable Unreadable `json:"-"`
}

// AnalysisRunList is a list of AnalysisRuns.
//
// +kubebuilder:object:root=true
type AnalysisRunList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []AnalysisRun `json:"items"`
}

// AnalysisRunSpec is what to measure and how to evaluate it.
//
// +kubebuilder:validation:XValidation:rule=`size(self.metrics) > 0`,message=`set at least one metric`,fieldPath=`.metrics`,reason=FieldValueRequired
type AnalysisRunSpec struct {
	// What to measure.
	// +kubebuilder:validation:MaxItems=100
	// +listType=map
	// +listMapKey=name
	Metrics []Metric `json:"metrics"`

	// Values that metrics refer to as {{args.<name>}}.
	// +optional
	// +kubebuilder:validation:MaxItems=200
	// +listType=map
	// +listMapKey=name
	Args []Argument `json:"args,omitempty"`

	// Whether to stop now. The run ends with its worst result so far, or as successful if there is
	// none.
	// +optional
	Terminate bool `json:"terminate,omitempty"`

	// Metrics whose results are recorded but do not affect the outcome.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	DryRun []DryRun `json:"dryRun,omitempty"`

	// How many measurements of each metric to keep.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	MeasurementRetention []MeasurementRetention `json:"measurementRetention,omitempty"`

	// When to delete the AnalysisRun after it has ended. Defaults to never.
	// +optional
	TTLStrategy *TTLStrategy `json:"ttlStrategy,omitempty"`
}

// TTLStrategy is when to delete an AnalysisRun after it has ended.
type TTLStrategy struct {
	// Seconds after the end, whatever the outcome.
	// +optional
	// +kubebuilder:validation:Minimum=0
	SecondsAfterCompletion *int32 `json:"secondsAfterCompletion,omitempty"`

	// Seconds after the end, if the run failed. Takes precedence over secondsAfterCompletion.
	// +optional
	// +kubebuilder:validation:Minimum=0
	SecondsAfterFailure *int32 `json:"secondsAfterFailure,omitempty"`

	// Seconds after the end, if the run was successful. Takes precedence over secondsAfterCompletion.
	// +optional
	// +kubebuilder:validation:Minimum=0
	SecondsAfterSuccess *int32 `json:"secondsAfterSuccess,omitempty"`
}

// AnalysisRunStatus is what has been measured and how it was evaluated.
type AnalysisRunStatus struct {
	// Whether the run is in progress, or how it ended.
	Phase AnalysisPhase `json:"phase"`

	// The reason for the phase, in a sentence.
	// +optional
	Message string `json:"message,omitempty"`

	// What has been measured, by metric.
	// +optional
	MetricResults []MetricResult `json:"metricResults,omitempty"`

	// When the run began.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`

	// Counts of the metrics that affect the outcome, by how they ended.
	// +optional
	RunSummary RunSummary `json:"runSummary,omitempty"`

	// Counts of the dryRun metrics, by how they ended. Absent without dryRun.
	// +optional
	DryRunSummary *RunSummary `json:"dryRunSummary,omitempty"`

	// When the run ended.
	// +optional
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`
}

// RunSummary counts metrics by how they ended.
type RunSummary struct {
	// Number of all metrics, whether they have ended or not.
	// +optional
	Count int32 `json:"count,omitempty"`

	// Number of metrics that passed.
	// +optional
	Successful int32 `json:"successful,omitempty"`

	// Number of metrics that failed.
	// +optional
	Failed int32 `json:"failed,omitempty"`

	// Number of inconclusive metrics.
	// +optional
	Inconclusive int32 `json:"inconclusive,omitempty"`

	// Number of metrics that could not be measured.
	// +optional
	Error int32 `json:"error,omitempty"`
}

// AnalysisPhase is whether a measurement, a metric, an AnalysisRun or an Experiment is in progress, or
// how it ended.
type AnalysisPhase string

// The phases of analyses and experiments.
const (
	// AnalysisPhasePending: not started.
	AnalysisPhasePending AnalysisPhase = "Pending"
	// AnalysisPhaseRunning: started and not ended.
	AnalysisPhaseRunning AnalysisPhase = "Running"
	// AnalysisPhaseSuccessful: passed.
	AnalysisPhaseSuccessful AnalysisPhase = "Successful"
	// AnalysisPhaseFailed: did not pass.
	AnalysisPhaseFailed AnalysisPhase = "Failed"
	// AnalysisPhaseError: could not be carried out.
	AnalysisPhaseError AnalysisPhase = "Error"
	// AnalysisPhaseInconclusive: neither passed nor failed.
	AnalysisPhaseInconclusive AnalysisPhase = "Inconclusive"
)

// MetricResult is what has been measured for one metric.
type MetricResult struct {
	// Name of the metric.
	Name string `json:"name"`

	// Whether the metric is in progress, or how it ended.
	Phase AnalysisPhase `json:"phase"`

	// The newest measurements, in order of time.
	// +optional
	Measurements []Measurement `json:"measurements,omitempty"`

	// The reason for the phase, in a sentence.
	// +optional
	Message string `json:"message,omitempty"`

	// Number of measurements, not counting those that ended with an error.
	// +optional
	Count int32 `json:"count,omitempty"`

	// Number of measurements that passed.
	// +optional
	Successful int32 `json:"successful,omitempty"`

	// Number of measurements that failed.
	// +optional
	Failed int32 `json:"failed,omitempty"`

	// Number of inconclusive measurements.
	// +optional
	Inconclusive int32 `json:"inconclusive,omitempty"`

	// Number of measurements that ended with an error.
	// +optional
	Error int32 `json:"error,omitempty"`

	// Number of errors since the last measurement that succeeded in getting a value.
	// +optional
	ConsecutiveError int32 `json:"consecutiveError,omitempty"`

	// Whether the metric is a dry run, which does not affect the outcome.
	// +optional
	DryRun bool `json:"dryRun,omitempty"`

	// What the provider reports about the metric, such as the query it sends.
	// +optional
	Metadata map[string]string `json:"metadata,omitempty"`

	// Number of measurements that passed since the last one that did not.
	// +optional
	ConsecutiveSuccess int32 `json:"consecutiveSuccess,omitempty"`
}

// Measurement is one measurement of a metric.
type Measurement struct {
	// Whether the measurement is in progress, or how it ended.
	Phase AnalysisPhase `json:"phase"`

	// The reason for the phase, in a sentence.
	// +optional
	Message string `json:"message,omitempty"`

	// When the measurement began.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`

	// When the measurement ended.
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`

	// The value that was measured.
	// +optional
	Value string `json:"value,omitempty"`

	// What the provider reports about the measurement, such as the name of a Job.
	// +optional
	Metadata map[string]string `json:"metadata,omitempty"`

	// When to check a measurement that is still in progress.
	// +optional
	ResumeAt *metav1.Time `json:"resumeAt,omitempty"`
}
