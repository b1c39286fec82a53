package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AnalysisRun measures and judges once: the metrics of one or more templates with all arguments known.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=analysisruns,shortName=ar
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.phase`,description="How the run is doing or ended"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type AnalysisRun struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What to measure and how to judge it.
	Spec AnalysisRunSpec `json:"spec"`

	// What has been measured and how it was judged.
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

// AnalysisRunSpec is what to measure and how to judge it.
//
// +kubebuilder:validation:XValidation:rule=`size(self.metrics) > 0`,message=`set at least one metric`,fieldPath=`.metrics`,reason=FieldValueRequired
type AnalysisRunSpec struct {
	// What to measure.
	// +kubebuilder:validation:MaxItems=100
	// +listType=map
	// +listMapKey=name
	Metrics []Metric `json:"metrics"`

	// Values that the metrics use as {{args.<name>}}.
	// +optional
	// +kubebuilder:validation:MaxItems=200
	// +listType=map
	// +listMapKey=name
	Args []Argument `json:"args,omitempty"`

	// Whether to end now, with the worst result so far, or successful if there is none.
	// +optional
	Terminate bool `json:"terminate,omitempty"`

	// Metrics whose results are recorded and do not count.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	DryRun []DryRun `json:"dryRun,omitempty"`

	// How many measurements of metrics are kept.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	MeasurementRetention []MeasurementRetention `json:"measurementRetention,omitempty"`

	// When the AnalysisRun is deleted after it has ended. Defaults to never.
	// +optional
	TTLStrategy *TTLStrategy `json:"ttlStrategy,omitempty"`
}

// TTLStrategy is when an AnalysisRun is deleted after it has ended.
type TTLStrategy struct {
	// Seconds after the end, however it ended.
	// +optional
	// +kubebuilder:validation:Minimum=0
	SecondsAfterCompletion *int32 `json:"secondsAfterCompletion,omitempty"`

	// Seconds after the end, if it failed. Takes precedence over secondsAfterCompletion.
	// +optional
	// +kubebuilder:validation:Minimum=0
	SecondsAfterFailure *int32 `json:"secondsAfterFailure,omitempty"`

	// Seconds after the end, if it was successful. Takes precedence over secondsAfterCompletion.
	// +optional
	// +kubebuilder:validation:Minimum=0
	SecondsAfterSuccess *int32 `json:"secondsAfterSuccess,omitempty"`
}

// AnalysisRunStatus is what has been measured and how it was judged.
type AnalysisRunStatus struct {
	// How the run is doing or ended.
	Phase AnalysisPhase `json:"phase"`

	// Why, in a sentence.
	// +optional
	Message string `json:"message,omitempty"`

	// What has been measured, metric by metric.
	// +optional
	MetricResults []MetricResult `json:"metricResults,omitempty"`

	// When the run began.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`

	// The numbers of metrics that count, by how they ended.
	// +optional
	RunSummary RunSummary `json:"runSummary,omitempty"`

	// The numbers of metrics that do not count, by how they ended. Absent without dryRun.
	// +optional
	DryRunSummary *RunSummary `json:"dryRunSummary,omitempty"`

	// When the run ended.
	// +optional
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`
}

// RunSummary is numbers of metrics by how they ended.
type RunSummary struct {
	// All metrics, ended or not.
	// +optional
	Count int32 `json:"count,omitempty"`

	// Metrics that passed.
	// +optional
	Successful int32 `json:"successful,omitempty"`

	// Metrics that did not pass.
	// +optional
	Failed int32 `json:"failed,omitempty"`

	// Metrics that could not tell.
	// +optional
	Inconclusive int32 `json:"inconclusive,omitempty"`

	// Metrics that could not be measured.
	// +optional
	Error int32 `json:"error,omitempty"`
}

// AnalysisPhase is how a measurement, a metric, an AnalysisRun or an Experiment is doing or ended.
type AnalysisPhase string

// The phases of analyses and experiments.
const (
	// AnalysisPhasePending: not begun.
	AnalysisPhasePending AnalysisPhase = "Pending"
	// AnalysisPhaseRunning: begun and not ended.
	AnalysisPhaseRunning AnalysisPhase = "Running"
	// AnalysisPhaseSuccessful: ended well.
	AnalysisPhaseSuccessful AnalysisPhase = "Successful"
	// AnalysisPhaseFailed: ended badly.
	AnalysisPhaseFailed AnalysisPhase = "Failed"
	// AnalysisPhaseError: could not be done.
	AnalysisPhaseError AnalysisPhase = "Error"
	// AnalysisPhaseInconclusive: ended without telling whether well or badly.
	AnalysisPhaseInconclusive AnalysisPhase = "Inconclusive"
)

// MetricResult is what has been measured of one metric.
type MetricResult struct {
	// Name of the metric.
	Name string `json:"name"`

	// How the metric is doing or ended.
	Phase AnalysisPhase `json:"phase"`

	// The newest measurements, the newest last.
	// +optional
	Measurements []Measurement `json:"measurements,omitempty"`

	// Why, in a sentence.
	// +optional
	Message string `json:"message,omitempty"`

	// Number of measurements that were made, without those that ended in an error.
	// +optional
	Count int32 `json:"count,omitempty"`

	// Number of measurements that passed.
	// +optional
	Successful int32 `json:"successful,omitempty"`

	// Number of measurements that did not pass.
	// +optional
	Failed int32 `json:"failed,omitempty"`

	// Number of measurements that could not tell.
	// +optional
	Inconclusive int32 `json:"inconclusive,omitempty"`

	// Number of measurements that could not be made.
	// +optional
	Error int32 `json:"error,omitempty"`

	// Number of measurements that could not be made since the last one that could.
	// +optional
	ConsecutiveError int32 `json:"consecutiveError,omitempty"`

	// Whether the metric does not count.
	// +optional
	DryRun bool `json:"dryRun,omitempty"`

	// What the provider tells about the metric, such as the query it sends.
	// +optional
	Metadata map[string]string `json:"metadata,omitempty"`

	// Number of measurements that passed since the last one that did not.
	// +optional
	ConsecutiveSuccess int32 `json:"consecutiveSuccess,omitempty"`
}

// Measurement is one measurement of a metric.
type Measurement struct {
	// How the measurement is doing or ended.
	Phase AnalysisPhase `json:"phase"`

	// Why, in a sentence.
	// +optional
	Message string `json:"message,omitempty"`

	// When the measurement began.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`

	// When the measurement ended.
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`

	// What was measured.
	// +optional
	Value string `json:"value,omitempty"`

	// What the provider tells about the measurement, such as the name of a Job.
	// +optional
	Metadata map[string]string `json:"metadata,omitempty"`

	// When to look again at a measurement that takes time.
	// +optional
	ResumeAt *metav1.Time `json:"resumeAt,omitempty"`
}
