package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DurationString is a length of time with units, such as "30s", "5m" or "1h30m".
type DurationString string

// Duration is the length of time that the text stands for.
func (d DurationString) Duration() (time.Duration, error) {
	return time.ParseDuration(string(d))
}

// AnalysisTemplate describes how to tell whether a version is good: what to measure, how often, and which values pass. It is
// used by the Rollouts and Experiments of its namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=analysistemplates,shortName=at
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type AnalysisTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What to measure and how to judge it.
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

// ClusterAnalysisTemplate is an AnalysisTemplate that the Rollouts and Experiments of all namespaces can use.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=clusteranalysistemplates,shortName=cat,scope=Cluster
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ClusterAnalysisTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What to measure and how to judge it.
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

// AnalysisTemplateSpec is what to measure and how to judge it.
//
// +kubebuilder:validation:XValidation:rule=`(has(self.metrics) && size(self.metrics) > 0) || (has(self.templates) && size(self.templates) > 0)`,message=`set metrics, or templates to take metrics from, or both`,fieldPath=`.metrics`,reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule=`!has(self.args) || self.args.all(a, !has(a.value) || !has(a.valueFrom))`,message=`an argument must not have both value and valueFrom: remove one of the two`,fieldPath=`.args`,reason=FieldValueForbidden
type AnalysisTemplateSpec struct {
	// What to measure. May be left out when templates names others that have metrics.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	// +listType=map
	// +listMapKey=name
	Metrics []Metric `json:"metrics,omitempty"`

	// Values that the metrics use as {{args.<name>}}. The user of the template must set those without a value.
	// +optional
	// +kubebuilder:validation:MaxItems=200
	// +listType=map
	// +listMapKey=name
	Args []Argument `json:"args,omitempty"`

	// Metrics whose results are recorded and do not count.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	DryRun []DryRun `json:"dryRun,omitempty"`

	// How many measurements of metrics are kept.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	MeasurementRetention []MeasurementRetention `json:"measurementRetention,omitempty"`

	// Other templates whose metrics and arguments are added to those of this one.
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

// Argument is a named value for metrics.
type Argument struct {
	// Name of the argument: {{args.<name>}} stands for its value.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// The value, 64 KiB at most. Without value and valueFrom, the user of the template must give one.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	Value *string `json:"value,omitempty"`

	// Where to read the value.
	// +optional
	ValueFrom *ValueFrom `json:"valueFrom,omitempty"`
}

// ValueFrom is where to read the value of an argument. Exactly one of its fields is set.
//
// +kubebuilder:validation:XValidation:rule=`[has(self.secretKeyRef), has(self.configMapKeyRef), has(self.fieldRef)].filter(x, x).size() == 1`,message=`set exactly one of secretKeyRef, configMapKeyRef and fieldRef`
type ValueFrom struct {
	// A key of a Secret in the namespace of the AnalysisRun, read at each measurement. The value is not shown in results.
	// +optional
	SecretKeyRef *SecretKeyRef `json:"secretKeyRef,omitempty"`

	// A key of a ConfigMap in the namespace of the AnalysisRun, read at each measurement. Upstream does not know it.
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

// DryRun picks metrics whose results are recorded and do not count.
type DryRun struct {
	// Name of the metric, or a regular expression that is found in the names of several: ".*" for all.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`self != '*'`,message=`"*" is not a regular expression: use ".*" for all metrics`
	MetricName string `json:"metricName"`
}

// MeasurementRetention is how many measurements of metrics are kept.
type MeasurementRetention struct {
	// Name of the metric, or a regular expression that is found in the names of several: ".*" for all.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`self != '*'`,message=`"*" is not a regular expression: use ".*" for all metrics`
	MetricName string `json:"metricName"`

	// Number of measurements to keep, the newest, 1000 at most. Defaults to 10 for metrics that no entry picks. Fewer are kept
	// where those of all metrics together take more than 512 KiB: the AnalysisRun has to fit into the API server's storage.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:XValidation:rule=`self <= 1000`,message=`must be 1000 or less: an AnalysisRun has to fit into the API server's storage`
	Limit int32 `json:"limit"`
}

// RolloutAnalysis is an analysis that a Rollout runs: the metrics of all its templates together make one AnalysisRun.
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

	// Metrics whose results are recorded and do not count.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	DryRun []DryRun `json:"dryRun,omitempty"`

	// How many measurements of metrics are kept.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	MeasurementRetention []MeasurementRetention `json:"measurementRetention,omitempty"`

	// Labels and annotations for the AnalysisRun.
	// +optional
	AnalysisRunMetadata AnalysisRunMetadata `json:"analysisRunMetadata,omitempty"`
}

// RolloutAnalysisBackground is an analysis that runs beside the steps of an update.
type RolloutAnalysisBackground struct {
	RolloutAnalysis `json:",inline"`

	// Index of the step at which the analysis begins, counting from 0. Defaults to 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	StartingStep *int32 `json:"startingStep,omitempty"`
}

// AnalysisRunArgument is a value that a Rollout gives to an argument of a template.
//
// +kubebuilder:validation:XValidation:rule=`!(has(self.value) && size(self.value) > 0 && has(self.valueFrom))`,message=`set only one of value and valueFrom`,reason=FieldValueForbidden
type AnalysisRunArgument struct {
	// Name of the argument.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// The value, 64 KiB at most. Give this or valueFrom.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	Value string `json:"value,omitempty"`

	// Where to take the value from. Give this or value.
	// +optional
	ValueFrom *ArgumentValueFrom `json:"valueFrom,omitempty"`
}

// ArgumentValueFrom is where a Rollout takes the value of an argument from. Exactly one of its fields is set.
//
// +kubebuilder:validation:XValidation:rule=`has(self.podTemplateHashValue) != has(self.fieldRef)`,message=`set exactly one of podTemplateHashValue and fieldRef`
type ArgumentValueFrom struct {
	// The hash of the stable or of the latest version.
	// +optional
	// +kubebuilder:validation:Enum=Stable;Latest
	PodTemplateHashValue *ValueFromPodTemplateHash `json:"podTemplateHashValue,omitempty"`

	// A field of the Rollout.
	// +optional
	FieldRef *FieldRef `json:"fieldRef,omitempty"`
}

// ValueFromPodTemplateHash is whose hash is taken.
type ValueFromPodTemplateHash string

const (
	// ValueFromStable is the hash of the version that served before the update.
	ValueFromStable ValueFromPodTemplateHash = "Stable"
	// ValueFromLatest is the hash of the version that the update brings.
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
