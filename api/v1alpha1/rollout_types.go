package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Rollout runs a set of identical pods, like a Deployment, and replaces them with a new version in steps: as a canary, which
// takes a growing share of the traffic, or blue-green, which tests the new version first and then moves all traffic at once.
// Analyses, experiments and pauses decide whether and when the update continues.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=rollouts,shortName=ro,categories=all
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.HPAReplicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.spec.replicas`,description="Number of pods that are wanted"
// +kubebuilder:printcolumn:name="Current",type=integer,JSONPath=`.status.replicas`,description="Number of pods of all versions"
// +kubebuilder:printcolumn:name="Up-to-date",type=integer,JSONPath=`.status.updatedReplicas`,description="Number of pods of the newest version"
// +kubebuilder:printcolumn:name="Available",type=integer,JSONPath=`.status.availableReplicas`,description="Number of pods that have been ready for minReadySeconds"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Rollout struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What to run and how to update it. Set by users, and by autoscalers through the scale subresource.
	Spec RolloutSpec `json:"spec"`

	// What the controller has observed, and the state of the update. Users change only abort, promoteFull and
	// pauseConditions here, usually with the commands abort, promote and retry.
	// +optional
	Status RolloutStatus `json:"status,omitempty,omitzero"`

	// What of the stored object does not fit the API, and is therefore empty in Spec or Status.
	Unreadable Unreadable `json:"-"`
}

// RolloutList is a list of Rollouts.
//
// +kubebuilder:object:root=true
type RolloutList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Rollout `json:"items"`
}

// RolloutSpec is what to run and how to update it.
//
// +kubebuilder:validation:XValidation:rule=`has(self.selector) || (has(self.workloadRef) && !(has(self.workloadRef.kind) && self.workloadRef.kind == 'PodTemplate'))`,message=`selector is required: repeat some of template.metadata.labels under selector.matchLabels. Only a workloadRef to a Deployment or ReplicaSet brings its own`,fieldPath=`.selector`,reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule=`has(self.workloadRef) || (has(self.template) && has(self.template.spec) && has(self.template.spec.containers) && size(self.template.spec.containers) > 0)`,message=`template is required with at least one container in template.spec.containers, unless workloadRef names an object to take it from`,fieldPath=`.template`,reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule=`!has(self.workloadRef) || !(has(self.template) && has(self.template.spec) && has(self.template.spec.containers) && size(self.template.spec.containers) > 0)`,message=`must not be set together with workloadRef, which supplies the template: remove spec.template or spec.workloadRef`,fieldPath=`.template`,reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule=`has(self.workloadRef) || !has(self.selector) || !has(self.selector.matchLabels) || size(self.selector.matchLabels) == 0 || !has(self.template) || (has(self.template.metadata) && has(self.template.metadata.labels) && self.selector.matchLabels.all(k, k in self.template.metadata.labels && self.template.metadata.labels[k] == self.selector.matchLabels[k]))`,message=`template.metadata.labels must have every label of selector.matchLabels, with the same value, or the Rollout would not find its own pods`,fieldPath=`.template.metadata.labels`
// +kubebuilder:validation:XValidation:rule=`(has(self.progressDeadlineSeconds) ? self.progressDeadlineSeconds : 600) > (has(self.minReadySeconds) ? self.minReadySeconds : 0)`,message=`progressDeadlineSeconds (600 unless set) must be greater than minReadySeconds, or no pod could become available in time`,fieldPath=`.progressDeadlineSeconds`
// +kubebuilder:validation:XValidation:rule=`!has(self.strategy.blueGreen) || !has(self.strategy.blueGreen.scaleDownDelayRevisionLimit) || self.strategy.blueGreen.scaleDownDelayRevisionLimit <= (has(self.revisionHistoryLimit) ? self.revisionHistoryLimit : 10)`,message=`scaleDownDelayRevisionLimit must not exceed revisionHistoryLimit (10 unless set): lower the one or raise the other`,fieldPath=`.strategy.blueGreen.scaleDownDelayRevisionLimit`
type RolloutSpec struct {
	// Number of pods when no update is in progress. During an update there may be more, or temporarily fewer: see maxSurge
	// and maxUnavailable of the strategy. Defaults to 1. 0 stops all pods. An autoscaler changes this field through the
	// scale subresource.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`

	// Labels that select the Rollout's pods. Must match the labels of template, must not be empty, and cannot be changed
	// once set. Required unless workloadRef supplies it.
	// +optional
	// +kubebuilder:validation:XValidation:rule=`(has(self.matchLabels) && size(self.matchLabels) > 0) || (has(self.matchExpressions) && size(self.matchExpressions) > 0)`,message=`selector must not be empty, or it would select every pod in the namespace: repeat some of template.metadata.labels under matchLabels`,reason=FieldValueRequired
	// +kubebuilder:validation:XValidation:rule=`self == oldSelf`,message=`selector cannot be changed once it is set: delete the Rollout with --cascade=orphan and create it again, or keep the labels and change others`,reason=FieldValueForbidden
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// The pods to run. Any change here creates a new version and starts an update, except for labels and annotations that
	// the strategy itself adds. Required unless workloadRef names an object to take the template from.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Template corev1.PodTemplateSpec `json:"template,omitempty,omitzero"`

	// The object to take the pod template from. If it is set, template must be left out.
	// +optional
	WorkloadRef *ObjectRef `json:"workloadRef,omitempty"`

	// Seconds that a new pod must be ready, without any of its containers crashing, before it counts as available. Defaults
	// to 0: available as soon as it is ready. Must be less than progressDeadlineSeconds. Changing it does not create a new
	// version.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`

	// How to replace the old version with a new one. Set exactly one of canary and blueGreen.
	Strategy RolloutStrategy `json:"strategy"`

	// Number of old versions to keep for rollbacks, as ReplicaSets with zero pods. Defaults to 10. Versions that are still
	// in use do not count.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`

	// Freezes the Rollout: no pods are added or removed, no step starts, and no Service is switched until it is false again.
	// Defaults to false. Pause steps do not set this field; they are recorded in status.pauseConditions.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// Seconds that an update may go without progress before the Rollout is reported as degraded. Time spent in pauses,
	// analysis steps and experiment steps does not count. Defaults to 600. Must be greater than minReadySeconds.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`

	// Whether to abort an update that exceeds progressDeadlineSeconds, and return traffic to the stable version, instead of
	// only reporting it. Defaults to false.
	// +optional
	ProgressDeadlineAbort bool `json:"progressDeadlineAbort,omitempty"`

	// Pods created before this time are replaced once the time has come, a few at a time and within their
	// PodDisruptionBudgets. This is not a new version: no steps run.
	// +optional
	RestartAt *metav1.Time `json:"restartAt,omitempty"`

	// When a rollback to an earlier version skips steps, pauses and analyses.
	// +optional
	RollbackWindow *RollbackWindowSpec `json:"rollbackWindow,omitempty"`

	// How many finished AnalysisRuns and Experiments to keep.
	// +optional
	Analysis *AnalysisRunStrategy `json:"analysis,omitempty"`
}

// ObjectRef names a workload in the Rollout's namespace whose pod template the Rollout runs.
//
// +kubebuilder:validation:XValidation:rule=`has(self.name) && size(self.name) > 0`,message=`name is required: the name of the workload to take the pod template from`,fieldPath=`.name`,reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule=`has(self.kind) && has(self.apiVersion) && ((self.kind in ['Deployment', 'ReplicaSet'] && self.apiVersion.startsWith('apps/')) || (self.kind == 'PodTemplate' && self.apiVersion == 'v1'))`,message=`must be a Deployment or ReplicaSet of apiVersion apps/v1, or a PodTemplate of apiVersion v1`,fieldPath=`.kind`
type ObjectRef struct {
	// API version of the workload: apps/v1 for Deployment and ReplicaSet, v1 for PodTemplate.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	APIVersion string `json:"apiVersion,omitempty"`

	// Kind of the workload: Deployment, ReplicaSet or PodTemplate.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`

	// Name of the workload, in the namespace of the Rollout.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// What happens to the pods of a referenced Deployment: "never" leaves them running (default), "onsuccess" scales the
	// Deployment to zero when the Rollout is first healthy, and "progressively" scales it down as pods of the Rollout become
	// ready.
	// +optional
	// +kubebuilder:validation:Enum=never;onsuccess;progressively
	ScaleDown WorkloadScaleDown `json:"scaleDown,omitempty"`
}

// WorkloadScaleDown is what happens to the pods of a referenced Deployment.
type WorkloadScaleDown string

const (
	// ScaleDownNever leaves the Deployment as it is.
	ScaleDownNever WorkloadScaleDown = "never"
	// ScaleDownOnSuccess scales the Deployment to zero when the Rollout is first healthy.
	ScaleDownOnSuccess WorkloadScaleDown = "onsuccess"
	// ScaleDownProgressively scales the Deployment down as the Rollout's pods become ready.
	ScaleDownProgressively WorkloadScaleDown = "progressively"
)

// RolloutStrategy is how to replace the old version with a new one. Set exactly one of its fields.
//
// +kubebuilder:validation:XValidation:rule=`has(self.canary) || has(self.blueGreen)`,message=`set canary or blueGreen: canary moves traffic a part at a time (canary: {} is a rolling update), blueGreen all at once`,reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule=`!(has(self.canary) && has(self.blueGreen))`,message=`set only one of canary and blueGreen: remove the other`,reason=FieldValueForbidden
type RolloutStrategy struct {
	// Runs the new version next to the old one, both at full size, and moves all traffic at once.
	// +optional
	BlueGreen *BlueGreenStrategy `json:"blueGreen,omitempty"`

	// Moves traffic to the new version in steps.
	// +optional
	Canary *CanaryStrategy `json:"canary,omitempty"`
}

// RollbackWindowSpec is when a rollback to an earlier version skips steps, pauses and analyses.
type RollbackWindowSpec struct {
	// Number of versions to look back. A rollback skips all steps if fewer than this many other versions were created after
	// the version it returns to. Defaults to 0: every rollback runs all steps, except one to the version that is still
	// stable.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Revisions int32 `json:"revisions,omitempty"`
}

// AnalysisRunStrategy is how many finished AnalysisRuns and Experiments of earlier updates to keep. Those of the current
// update are always kept.
type AnalysisRunStrategy struct {
	// Number of successful AnalysisRuns to keep, and of successful Experiments. Defaults to 5.
	// +optional
	// +kubebuilder:validation:Minimum=0
	SuccessfulRunHistoryLimit *int32 `json:"successfulRunHistoryLimit,omitempty"`

	// Number of AnalysisRuns that failed, ended with an error or were inconclusive to keep, and of such Experiments.
	// Defaults to 5.
	// +optional
	// +kubebuilder:validation:Minimum=0
	UnsuccessfulRunHistoryLimit *int32 `json:"unsuccessfulRunHistoryLimit,omitempty"`
}

// PodTemplateMetadata is labels and annotations for pods.
type PodTemplateMetadata struct {
	// Labels to add to the pods.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations to add to the pods.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// AntiAffinity keeps pods of the new version off the nodes of the old one, so that an autoscaler that removes nodes after
// the update does not remove the new version's pods with them. Set exactly one of its fields.
//
// +kubebuilder:validation:XValidation:rule=`has(self.preferredDuringSchedulingIgnoredDuringExecution) != has(self.requiredDuringSchedulingIgnoredDuringExecution)`,message=`set exactly one of preferredDuringSchedulingIgnoredDuringExecution and requiredDuringSchedulingIgnoredDuringExecution`
type AntiAffinity struct {
	// Prefer other nodes, but use the same ones if there are no others.
	// +optional
	PreferredDuringSchedulingIgnoredDuringExecution *PreferredDuringSchedulingIgnoredDuringExecution `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty"`

	// Require other nodes. Pods stay pending if there are none.
	// +optional
	RequiredDuringSchedulingIgnoredDuringExecution *RequiredDuringSchedulingIgnoredDuringExecution `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty"`
}

// PreferredDuringSchedulingIgnoredDuringExecution is how strongly to prefer other nodes.
type PreferredDuringSchedulingIgnoredDuringExecution struct {
	// Weight of this preference relative to the scheduler's other preferences, 1 to 100.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Weight int32 `json:"weight"`
}

// RequiredDuringSchedulingIgnoredDuringExecution has no settings: write {}.
type RequiredDuringSchedulingIgnoredDuringExecution struct{}
