package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DurationString is a duration with units, such as "30s", "5m" or "1h30m".
type DurationString string

// Duration parses the string.
func (d DurationString) Duration() (time.Duration, error) {
	return time.ParseDuration(string(d))
}

// AnalysisTemplate describes how to decide whether a version is good: what to measure, how often, and which values pass.
// Rollouts and Experiments in the same namespace can use it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=analysistemplates,shortName=at
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type AnalysisTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What to measure and how to evaluate it.
	Spec AnalysisTemplateSpec `json:"spec"`
}

// AnalysisTemplateList is a list of AnalysisTemplates.
//
// +kubebuilder:object:root=true
type AnalysisTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []AnalysisTemplate `json:"items"`
}

// ClusterAnalysisTemplate is an AnalysisTemplate that Rollouts and Experiments in all namespaces can use.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=clusteranalysistemplates,shortName=cat,scope=Cluster
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ClusterAnalysisTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What to measure and how to evaluate it.
	Spec AnalysisTemplateSpec `json:"spec"`
}

// ClusterAnalysisTemplateList is a list of ClusterAnalysisTemplates.
//
// +kubebuilder:object:root=true
type ClusterAnalysisTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ClusterAnalysisTemplate `json:"items"`
}

// AnalysisTemplateSpec is what to measure and how to evaluate it.
//
// +kubebuilder:validation:XValidation:rule=`(has(self.metrics) && size(self.metrics) > 0) || (has(self.templates) && size(self.templates) > 0)`,message=`set metrics, or templates to take metrics from, or both`,fieldPath=`.metrics`,reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule=`!has(self.args) || self.args.all(a, !has(a.value) || !has(a.valueFrom))`,message=`an argument must not have both value and valueFrom: remove one of the two`,fieldPath=`.args`,reason=FieldValueForbidden
type AnalysisTemplateSpec struct {
	// What to measure. May be left out if templates lists templates that have metrics.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	// +listType=map
	// +listMapKey=name
	Metrics []Metric `json:"metrics,omitempty"`

	// Values that metrics refer to as {{args.<name>}}. Arguments without a value must be set wherever the template is used.
	// +optional
	// +kubebuilder:validation:MaxItems=200
	// +listType=map
	// +listMapKey=name
	Args []Argument `json:"args,omitempty"`

	// Metrics whose results are recorded but do not affect the outcome.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	DryRun []DryRun `json:"dryRun,omitempty"`

	// How many measurements of each metric to keep.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	MeasurementRetention []MeasurementRetention `json:"measurementRetention,omitempty"`

	// Other templates whose metrics and arguments are added to this template's.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	Templates []AnalysisTemplateRef `json:"templates,omitempty"`

	// What of the stored template does not fit the API, and is therefore empty here.
	Unreadable Unreadable `json:"-"`
}

// AnalysisTemplateRef names a template.
type AnalysisTemplateRef struct {
	// Name of the AnalysisTemplate in the same namespace, or of the ClusterAnalysisTemplate.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	TemplateName string `json:"templateName"`

	// Whether templateName is a ClusterAnalysisTemplate. Defaults to false.
	// +optional
	ClusterScope bool `json:"clusterScope,omitempty"`
}

// Argument is a named value that metrics can refer to.
type Argument struct {
	// Name of the argument. Metrics refer to its value as {{args.<name>}}.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// The value, at most 64 KiB. If value and valueFrom are both missing, the argument must be set wherever the template is
	// used.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	Value *string `json:"value,omitempty"`

	// Where to read the value from.
	// +optional
	ValueFrom *ValueFrom `json:"valueFrom,omitempty"`
}

// ValueFrom is where to read the value of an argument from. Set exactly one of its fields.
//
// +kubebuilder:validation:XValidation:rule=`[has(self.secretKeyRef), has(self.configMapKeyRef), has(self.fieldRef)].filter(x, x).size() == 1`,message=`set exactly one of secretKeyRef, configMapKeyRef and fieldRef`
type ValueFrom struct {
	// A key of a Secret in the namespace of the AnalysisRun, read at each measurement. The value is not shown in results.
	// +optional
	SecretKeyRef *SecretKeyRef `json:"secretKeyRef,omitempty"`

	// A key of a ConfigMap in the namespace of the AnalysisRun, read at each measurement. Argo Rollouts does not support it.
	// +optional
	ConfigMapKeyRef *ConfigMapKeyRef `json:"configMapKeyRef,omitempty"`

	// A field of the Rollout.
	// +optional
	FieldRef *FieldRef `json:"fieldRef,omitempty"`
}

// ConfigMapKeyRef is a key of a ConfigMap.
type ConfigMapKeyRef struct {
	// Name of the ConfigMap.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// The key.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
}

// SecretKeyRef is a key of a Secret.
type SecretKeyRef struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// The key.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
}

// FieldRef is a field of the Rollout.
type FieldRef struct {
	// Path of the field: metadata.name, metadata.labels['key'], spec.template.spec.containers[0].image, and so on.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	FieldPath string `json:"fieldPath"`
}

// DryRun selects metrics whose results are recorded but do not affect the outcome.
type DryRun struct {
	// Name of the metric, or a regular expression that matches part of the names of several: ".*" for all.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`self != '*'`,message=`"*" is not a regular expression: use ".*" for all metrics`
	MetricName string `json:"metricName"`
}

// MeasurementRetention is how many measurements of a metric to keep.
type MeasurementRetention struct {
	// Name of the metric, or a regular expression that matches part of the names of several: ".*" for all.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`self != '*'`,message=`"*" is not a regular expression: use ".*" for all metrics`
	MetricName string `json:"metricName"`

	// Number of the newest measurements to keep, at most 1000. Defaults to 10 for metrics that no entry selects. Fewer are
	// kept if the measurements of all metrics together exceed 512 KiB, because the AnalysisRun must fit into the API server's
	// storage.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:XValidation:rule=`self <= 1000`,message=`must be 1000 or less: an AnalysisRun has to fit into the API server's storage`
	Limit int32 `json:"limit"`
}

// RolloutAnalysis is an analysis that a Rollout runs. The metrics of all its templates become one AnalysisRun.
//
// +kubebuilder:validation:XValidation:rule=`has(self.templates) && size(self.templates) > 0`,message=`name at least one AnalysisTemplate under templates, as "- templateName: <name>"`,fieldPath=`.templates`,reason=FieldValueRequired
type RolloutAnalysis struct {
	// The templates.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	Templates []AnalysisTemplateRef `json:"templates,omitempty"`

	// Values for the arguments of the templates.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	// +listType=map
	// +listMapKey=name
	Args []AnalysisRunArgument `json:"args,omitempty"`

	// Metrics whose results are recorded but do not affect the outcome.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	DryRun []DryRun `json:"dryRun,omitempty"`

	// How many measurements of each metric to keep.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	MeasurementRetention []MeasurementRetention `json:"measurementRetention,omitempty"`

	// Labels and annotations for the AnalysisRun.
	// +optional
	AnalysisRunMetadata AnalysisRunMetadata `json:"analysisRunMetadata,omitempty"`
}

// RolloutAnalysisBackground is an analysis that runs alongside the steps of an update.
type RolloutAnalysisBackground struct {
	RolloutAnalysis `json:",inline"`

	// Index of the step at which the analysis starts, counting from 0. Defaults to 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	StartingStep *int32 `json:"startingStep,omitempty"`
}

// AnalysisRunArgument is a value that a Rollout passes to an argument of a template.
//
// +kubebuilder:validation:XValidation:rule=`!(has(self.value) && size(self.value) > 0 && has(self.valueFrom))`,message=`set only one of value and valueFrom`,reason=FieldValueForbidden
type AnalysisRunArgument struct {
	// Name of the argument.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// The value, at most 64 KiB. Set this or valueFrom.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	Value string `json:"value,omitempty"`

	// Where to read the value from. Set this or value.
	// +optional
	ValueFrom *ArgumentValueFrom `json:"valueFrom,omitempty"`
}

// ArgumentValueFrom is where a Rollout reads the value of an argument from. Set exactly one of its fields.
//
// +kubebuilder:validation:XValidation:rule=`has(self.podTemplateHashValue) != has(self.fieldRef)`,message=`set exactly one of podTemplateHashValue and fieldRef`
type ArgumentValueFrom struct {
	// The pod template hash of a version: Stable or Latest.
	// +optional
	// +kubebuilder:validation:Enum=Stable;Latest
	PodTemplateHashValue *ValueFromPodTemplateHash `json:"podTemplateHashValue,omitempty"`

	// A field of the Rollout.
	// +optional
	FieldRef *FieldRef `json:"fieldRef,omitempty"`
}

// ValueFromPodTemplateHash is the version whose hash is used.
type ValueFromPodTemplateHash string

const (
	// ValueFromStable is the hash of the version that served before the update.
	ValueFromStable ValueFromPodTemplateHash = "Stable"
	// ValueFromLatest is the hash of the version that the update introduces.
	ValueFromLatest ValueFromPodTemplateHash = "Latest"
)

// AnalysisRunMetadata is labels and annotations for AnalysisRuns.
type AnalysisRunMetadata struct {
	// Labels to add.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations to add.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}
