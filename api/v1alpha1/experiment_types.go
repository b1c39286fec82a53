package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Experiment runs one or more versions for a while, side by side and without production traffic, and analyzes them.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=experiments,shortName=exp
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.phase`,description="How the experiment is doing or ended"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Experiment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What to run, for how long, and what to measure.
	Spec ExperimentSpec `json:"spec"`

	// What is running and how it is doing.
	// +optional
	Status ExperimentStatus `json:"status,omitempty,omitzero"`

	// What of the stored object does not fit the API, and is therefore empty in Spec or Status.
	Unreadable Unreadable `json:"-"`
}

// ExperimentList is a list of Experiments.
//
// +kubebuilder:object:root=true
type ExperimentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Experiment `json:"items"`
}

// ExperimentSpec is what to run, for how long, and what to measure.
//
// +kubebuilder:validation:XValidation:rule=`self.templates.all(t, (has(self.progressDeadlineSeconds) ? self.progressDeadlineSeconds : 600) > (has(t.minReadySeconds) ? t.minReadySeconds : 0))`,message=`progressDeadlineSeconds (600 unless set) must be greater than minReadySeconds of every template, or no pod could become available in time`,fieldPath=`.progressDeadlineSeconds`
type ExperimentSpec struct {
	// The versions to run. Each gets its own ReplicaSet.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=50
	// +listType=map
	// +listMapKey=name
	Templates []TemplateSpec `json:"templates"`

	// How long to run once all templates are available, such as "30m". Without it, the experiment runs until the analyses
	// that are required for completion end, or until terminate is set.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule=`size(self) == 0 || self.matches('^\\+?(0|(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$')`,message=`must be a length of time with units h, m, s and ms, such as 30s, 5m or 1h30m; a day is 24h`
	Duration DurationString `json:"duration,omitempty"`

	// Seconds that a template may take to become available before the experiment fails. Defaults to 600. Must be greater
	// than minReadySeconds of every template.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`

	// Whether to stop now.
	// +optional
	Terminate bool `json:"terminate,omitempty"`

	// Analyses to run once all templates are available. If any of them fails, the experiment ends.
	// +optional
	// +kubebuilder:validation:MaxItems=50
	// +listType=map
	// +listMapKey=name
	Analyses []ExperimentAnalysisTemplateRef `json:"analyses,omitempty"`

	// Seconds to keep the pods after the experiment has ended. Defaults to 30.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ScaleDownDelaySeconds *int32 `json:"scaleDownDelaySeconds,omitempty"`

	// Metrics whose results are recorded but do not affect the outcome.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	DryRun []DryRun `json:"dryRun,omitempty"`

	// How many measurements of each metric to keep.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	MeasurementRetention []MeasurementRetention `json:"measurementRetention,omitempty"`

	// Labels and annotations for the AnalysisRuns.
	// +optional
	AnalysisRunMetadata *AnalysisRunMetadata `json:"analysisRunMetadata,omitempty"`
}

// TemplateSpec is one version that an experiment runs.
//
// +kubebuilder:validation:XValidation:rule=`has(self.template) && has(self.template.spec) && has(self.template.spec.containers) && size(self.template.spec.containers) > 0`,message=`template needs at least one container in template.spec.containers`,fieldPath=`.template`,reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule=`!has(self.selector.matchLabels) || size(self.selector.matchLabels) == 0 || (has(self.template.metadata) && has(self.template.metadata.labels) && self.selector.matchLabels.all(k, k in self.template.metadata.labels && self.template.metadata.labels[k] == self.selector.matchLabels[k]))`,message=`template.metadata.labels must have every label of selector.matchLabels, with the same value, or the experiment would not find its own pods`,fieldPath=`.template.metadata.labels`
type TemplateSpec struct {
	// Name of the template, unique in the experiment. Part of the name of its ReplicaSet.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// Number of pods. Defaults to 1.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`

	// Seconds that a new pod must be ready, without any of its containers crashing, before it counts as available. Defaults
	// to 0. Must be less than progressDeadlineSeconds.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`

	// Labels that select the template's pods. Must match the labels of template, and no pods of other templates.
	// +kubebuilder:validation:XValidation:rule=`(has(self.matchLabels) && size(self.matchLabels) > 0) || (has(self.matchExpressions) && size(self.matchExpressions) > 0)`,message=`selector must not be empty, or it would select every pod in the namespace: repeat some of template.metadata.labels under matchLabels`,reason=FieldValueRequired
	Selector *metav1.LabelSelector `json:"selector"`

	// The pods to run.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Template corev1.PodTemplateSpec `json:"template"`

	// Creates a Service for the pods of the template.
	// +optional
	Service *TemplateService `json:"service,omitempty"`
}

// TemplateService is a Service for the pods of a template, with all the ports that the containers declare.
type TemplateService struct {
	// Name of the Service. Defaults to the name of the ReplicaSet.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
}

// ExperimentAnalysisTemplateRef is an analysis that an experiment runs.
type ExperimentAnalysisTemplateRef struct {
	// Name of the analysis, unique in the experiment. Part of the name of its AnalysisRun.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Name of the AnalysisTemplate or ClusterAnalysisTemplate to run.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	TemplateName string `json:"templateName"`

	// Whether templateName is a ClusterAnalysisTemplate. Defaults to false.
	// +optional
	ClusterScope bool `json:"clusterScope,omitempty"`

	// Values for the arguments of the template. They may contain {{templates.<name>.podTemplateHash}},
	// {{templates.<name>.replicaset.name}}, {{experiment.availableAt}} and {{experiment.finishedAt}}.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	// +listType=map
	// +listMapKey=name
	Args []Argument `json:"args,omitempty"`

	// Whether the experiment waits for this analysis to end. An experiment ends early once all its required analyses are
	// successful. Defaults to false.
	// +optional
	RequiredForCompletion bool `json:"requiredForCompletion,omitempty"`
}

// ExperimentStatus is what is running and how it is doing.
type ExperimentStatus struct {
	// Whether the experiment is in progress, or how it ended.
	// +optional
	Phase AnalysisPhase `json:"phase,omitempty"`

	// The reason for the phase, in a sentence.
	// +optional
	Message string `json:"message,omitempty"`

	// When all templates became available. The duration counts from here.
	// +optional
	AvailableAt *metav1.Time `json:"availableAt,omitempty"`

	// Details of how the experiment is doing.
	// +optional
	Conditions []ExperimentCondition `json:"conditions,omitempty"`

	// How each template is doing.
	// +optional
	TemplateStatuses []TemplateStatus `json:"templateStatuses,omitempty"`

	// How each analysis is doing.
	// +optional
	AnalysisRuns []ExperimentAnalysisRunStatus `json:"analysisRuns,omitempty"`
}

// TemplateStatus is how a template is doing.
type TemplateStatus struct {
	// Name of the template.
	Name string `json:"name"`

	// Number of pods.
	Replicas int32 `json:"replicas"`

	// Number of pods that run the current template.
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// Number of ready pods.
	ReadyReplicas int32 `json:"readyReplicas"`

	// Number of pods that have been ready for minReadySeconds.
	AvailableReplicas int32 `json:"availableReplicas"`

	// Number of times that the name of the ReplicaSet was already taken by another one.
	// +optional
	CollisionCount *int32 `json:"collisionCount,omitempty"`

	// Whether the template is in progress, or how it ended.
	// +optional
	Status TemplateStatusCode `json:"status,omitempty"`

	// The reason for the status, in a sentence.
	// +optional
	Message string `json:"message,omitempty"`

	// When status last changed, or when the template last made progress.
	// +optional
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`

	// Name of the Service for the pods.
	// +optional
	ServiceName string `json:"serviceName,omitempty"`

	// Pod template hash, as on the template's pods.
	// +optional
	PodTemplateHash string `json:"podTemplateHash,omitempty"`
}

// TemplateStatusCode is how a template of an experiment is doing or ended.
type TemplateStatusCode string

// The states of a template.
const (
	// TemplateStatusProgressing: pods are becoming available.
	TemplateStatusProgressing TemplateStatusCode = "Progressing"
	// TemplateStatusRunning: all pods are available.
	TemplateStatusRunning TemplateStatusCode = "Running"
	// TemplateStatusSuccessful: ran for the intended time.
	TemplateStatusSuccessful TemplateStatusCode = "Successful"
	// TemplateStatusFailed: did not become available in time.
	TemplateStatusFailed TemplateStatusCode = "Failed"
	// TemplateStatusError: could not be run.
	TemplateStatusError TemplateStatusCode = "Error"
)

// ExperimentAnalysisRunStatus is how an analysis of an experiment is doing.
type ExperimentAnalysisRunStatus struct {
	// Name of the analysis.
	Name string `json:"name"`

	// Name of its AnalysisRun.
	AnalysisRun string `json:"analysisRun"`

	// Whether the analysis is in progress, or how it ended.
	Phase AnalysisPhase `json:"phase"`

	// The reason for the phase, in a sentence.
	// +optional
	Message string `json:"message,omitempty"`
}

// ExperimentCondition describes one aspect of an experiment.
type ExperimentCondition struct {
	// Type of the condition.
	Type ExperimentConditionType `json:"type"`

	// Whether the condition holds: True, False or Unknown.
	Status corev1.ConditionStatus `json:"status"`

	// When the condition was last written.
	LastUpdateTime metav1.Time `json:"lastUpdateTime"`

	// When status last changed.
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`

	// The reason for the status, in one word for programs.
	Reason string `json:"reason"`

	// The reason for the status, in a sentence for people.
	Message string `json:"message"`
}

// ExperimentConditionType is the type of a condition of an Experiment.
type ExperimentConditionType string

// The conditions of an Experiment.
const (
	// ExperimentConditionProgressing is True while the experiment makes progress or is done.
	ExperimentConditionProgressing ExperimentConditionType = "Progressing"
	// ExperimentConditionInvalidSpec is present and True while the spec is invalid.
	ExperimentConditionInvalidSpec ExperimentConditionType = "InvalidExperimentSpec"
)
