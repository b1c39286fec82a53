package v1alpha1

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RolloutStatus is what the controller has observed, and the state of the update.
type RolloutStatus struct {
	// Whether the update is aborted. Set by a user, or by the controller when an analysis fails. Cleared by a retry, and
	// when the spec describes the stable version again.
	// +optional
	Abort bool `json:"abort,omitempty"`

	// The pauses that are in effect. To resume the update, a user sets this to null.
	// +optional
	PauseConditions []PauseCondition `json:"pauseConditions,omitempty"`

	// Whether the controller added the pause in pauseConditions. If this is true and pauseConditions is empty, a user has
	// resumed the update.
	// +optional
	ControllerPause bool `json:"controllerPause,omitempty"`

	// When the update was last aborted.
	// +optional
	AbortedAt *metav1.Time `json:"abortedAt,omitempty"`

	// Hash of the version that the spec describes.
	// +optional
	CurrentPodHash string `json:"currentPodHash,omitempty"`

	// Hash of the steps that currentStepIndex refers to. Empty for blue-green.
	// +optional
	CurrentStepHash string `json:"currentStepHash,omitempty"`

	// Number of pods of all versions.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// Number of pods of the version that the spec describes.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas,omitempty"`

	// Number of ready pods: of all versions in a canary, of the active version in blue-green.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`

	// Number of pods that have been ready for minReadySeconds: of all versions in a canary, of the active version in
	// blue-green.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas,omitempty"`

	// Index of the current step, counting from 0. Equal to the number of steps when all are complete. Absent without steps.
	// +optional
	CurrentStepIndex *int32 `json:"currentStepIndex,omitempty"`

	// Number of times that the name of a new ReplicaSet was already taken by another version.
	// +optional
	CollisionCount *int32 `json:"collisionCount,omitempty"`

	// The metadata.generation that this status describes, as a decimal number in a string. Anything else, as very old
	// objects have it, counts as observed.
	// +optional
	ObservedGeneration string `json:"observedGeneration,omitempty"`

	// Details of how the Rollout is doing.
	// +optional
	Conditions []RolloutCondition `json:"conditions,omitempty"`

	// Status that only canary Rollouts have.
	// +optional
	Canary CanaryStatus `json:"canary,omitempty"`

	// Status that only blue-green Rollouts have.
	// +optional
	BlueGreen BlueGreenStatus `json:"blueGreen,omitempty"`

	// Number of pods that an autoscaler counts: of all versions in a canary, of the active version in blue-green. Read by
	// the scale subresource.
	// +optional
	HPAReplicas int32 `json:"HPAReplicas,omitempty"`

	// Label selector, as a string, of the pods that an autoscaler counts. Read by the scale subresource.
	// +optional
	Selector string `json:"selector,omitempty"`

	// Hash of the stable version: the last one that was promoted. Despite its name, this is not the name of a ReplicaSet.
	// +optional
	StableRS string `json:"stableRS,omitempty"`

	// The value of spec.restartAt for which all pods have been restarted.
	// +optional
	RestartedAt *metav1.Time `json:"restartedAt,omitempty"`

	// Whether the rest of this update skips steps, pauses and analyses. Set by a user. Cleared when the update ends.
	// +optional
	PromoteFull bool `json:"promoteFull,omitempty"`

	// How the Rollout is doing, in one word: Healthy, Progressing, Paused or Degraded.
	// +optional
	Phase RolloutPhase `json:"phase,omitempty"`

	// What the phase is waiting for or what caused it, in a sentence.
	// +optional
	Message string `json:"message,omitempty"`

	// The generation of the workload that this status describes, as a decimal number in a string. Only with workloadRef.
	// +optional
	WorkloadObservedGeneration string `json:"workloadObservedGeneration,omitempty"`

	// The load balancer of the last entry in albs. Kept for clients that read only one.
	// +optional
	ALB *ALBStatus `json:"alb,omitempty"`

	// The load balancers that were found when verifying AWS target groups, one for each Ingress.
	// +optional
	ALBs []ALBStatus `json:"albs,omitempty"`

	// How long the update has been running, or how long it took.
	// +optional
	Duration *RolloutDuration `json:"duration,omitempty"`
}

// CanaryStatus is status that only canary Rollouts have.
type CanaryStatus struct {
	// The AnalysisRun of the current step.
	// +optional
	CurrentStepAnalysisRunStatus *RolloutAnalysisRunStatus `json:"currentStepAnalysisRunStatus,omitempty"`

	// The background AnalysisRun.
	// +optional
	CurrentBackgroundAnalysisRunStatus *RolloutAnalysisRunStatus `json:"currentBackgroundAnalysisRunStatus,omitempty"`

	// Name of the Experiment of the current step.
	// +optional
	CurrentExperiment string `json:"currentExperiment,omitempty"`

	// The weights that the traffic routers were last set to.
	// +optional
	Weights *TrafficWeights `json:"weights,omitempty"`

	// Which Service of pingPong is the stable one: ping or pong.
	// +optional
	StablePingPong PingPongType `json:"stablePingPong,omitempty"`

	// The state of each plugin step.
	// +optional
	StepPluginStatuses []StepPluginStatus `json:"stepPluginStatuses,omitempty"`
}

// PingPongType is one of the two Services of pingPong.
type PingPongType string

const (
	// Ping is the ping Service.
	Ping PingPongType = "ping"
	// Pong is the pong Service.
	Pong PingPongType = "pong"
)

// BlueGreenStatus is status that only blue-green Rollouts have.
type BlueGreenStatus struct {
	// Hash of the version that the preview Service points at.
	// +optional
	PreviewSelector string `json:"previewSelector,omitempty"`

	// Hash of the version that the active Service points at.
	// +optional
	ActiveSelector string `json:"activeSelector,omitempty"`

	// Whether the new version may scale up from previewReplicaCount to spec.replicas.
	// +optional
	ScaleUpPreviewCheckPoint bool `json:"scaleUpPreviewCheckPoint,omitempty"`

	// The AnalysisRun that must pass before traffic moves.
	// +optional
	PrePromotionAnalysisRunStatus *RolloutAnalysisRunStatus `json:"prePromotionAnalysisRunStatus,omitempty"`

	// The AnalysisRun that must pass after traffic has moved.
	// +optional
	PostPromotionAnalysisRunStatus *RolloutAnalysisRunStatus `json:"postPromotionAnalysisRunStatus,omitempty"`
}

// RolloutAnalysisRunStatus is how an AnalysisRun of the Rollout is doing.
type RolloutAnalysisRunStatus struct {
	// Name of the AnalysisRun.
	Name string `json:"name"`

	// Phase of the AnalysisRun.
	Status AnalysisPhase `json:"status"`

	// Message of the AnalysisRun.
	// +optional
	Message string `json:"message,omitempty"`
}

// TrafficWeights is the weights that the traffic routers were last set to. They add up to maxTrafficWeight, which defaults
// to 100.
type TrafficWeights struct {
	// The new version's share.
	Canary WeightDestination `json:"canary"`

	// The stable version's share.
	Stable WeightDestination `json:"stable"`

	// The shares of the templates of a running experiment.
	// +optional
	Additional []WeightDestination `json:"additional,omitempty"`

	// Whether the routers confirm that the weights are in effect. Absent if no router can verify them.
	// +optional
	Verified *bool `json:"verified,omitempty"`
}

// WeightDestination is a share of the traffic and its destination.
type WeightDestination struct {
	// The share of the traffic.
	Weight int32 `json:"weight"`

	// Name of the Service that gets it.
	// +optional
	ServiceName string `json:"serviceName,omitempty"`

	// Hash of the version that gets it.
	// +optional
	PodTemplateHash string `json:"podTemplateHash,omitempty"`
}

// StepPluginStatus is how a plugin step is doing.
type StepPluginStatus struct {
	// Index of the step, counting from 0.
	Index int32 `json:"index"`

	// Name of the plugin.
	Name string `json:"name"`

	// The last operation requested from the plugin.
	// +optional
	Operation StepPluginOperation `json:"operation,omitempty"`

	// The result of that operation, or Running.
	// +optional
	Phase StepPluginPhase `json:"phase,omitempty"`

	// What the plugin reports about it.
	// +optional
	Message string `json:"message,omitempty"`

	// When the operation was first requested.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`

	// When this entry was last written.
	// +optional
	UpdatedAt *metav1.Time `json:"updatedAt,omitempty"`

	// When the operation ended.
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`

	// How long to wait before the plugin is called again.
	// +optional
	Backoff DurationString `json:"backoff,omitempty"`

	// How often the plugin has been called.
	// +optional
	Executions int32 `json:"executions,omitempty"`

	// Whether an administrator has disabled the plugin. The step then counts as complete.
	// +optional
	Disabled bool `json:"disabled,omitempty"`

	// State that the plugin asked to receive at its next call, in its own format.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Status json.RawMessage `json:"status,omitempty"`
}

// StepPluginOperation is an operation of a step plugin.
type StepPluginOperation string

const (
	// StepPluginRun runs the step.
	StepPluginRun StepPluginOperation = "Run"
	// StepPluginTerminate stops a step that is running.
	StepPluginTerminate StepPluginOperation = "Terminate"
	// StepPluginAbort undoes a step because the update is aborted.
	StepPluginAbort StepPluginOperation = "Abort"
)

// StepPluginPhase is the state of a step plugin's operation.
type StepPluginPhase string

const (
	// StepPluginRunning has not ended yet.
	StepPluginRunning StepPluginPhase = "Running"
	// StepPluginSuccessful is done; the update continues.
	StepPluginSuccessful StepPluginPhase = "Successful"
	// StepPluginFailed aborts the update.
	StepPluginFailed StepPluginPhase = "Failed"
	// StepPluginError is retried.
	StepPluginError StepPluginPhase = "Error"
)

// ALBStatus is what was found about the load balancer of an Ingress.
type ALBStatus struct {
	// The load balancer.
	// +optional
	LoadBalancer AwsResourceRef `json:"loadBalancer,omitempty"`

	// The target group of the new version.
	// +optional
	CanaryTargetGroup AwsResourceRef `json:"canaryTargetGroup,omitempty"`

	// The target group of the stable version.
	// +optional
	StableTargetGroup AwsResourceRef `json:"stableTargetGroup,omitempty"`

	// Name of the Ingress.
	// +optional
	Ingress string `json:"ingress,omitempty"`
}

// AwsResourceRef names an AWS resource.
type AwsResourceRef struct {
	// Name of the resource.
	Name string `json:"name"`

	// ARN of the resource.
	ARN string `json:"arn"`

	// The last part of the ARN, which CloudWatch uses.
	FullName string `json:"fullName"`
}

// RolloutDuration is how long an update has been running, or how long it took.
type RolloutDuration struct {
	// When the update began.
	// +optional
	RolloutStartedAt *metav1.Time `json:"rolloutStartedAt,omitempty"`

	// When the current manual pause began, in which the update waits for a user. Absent when there is none.
	// +optional
	ManualPauseStartedAt *metav1.Time `json:"manualPauseStartedAt,omitempty"`

	// Seconds that the update has spent in manual pauses, not counting the current one. Absent until the first one ends.
	// +optional
	TotalManualPauseDurationSeconds *int64 `json:"totalManualPauseDurationSeconds,omitempty"`

	// When the update ended. Absent while it is in progress.
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`

	// How the update ended. Absent while it is in progress.
	// +optional
	CompletionStatus CompletionStatus `json:"completionStatus,omitempty"`
}

// CompletionStatus is how an update ended.
type CompletionStatus string

// The ways in which an update ends.
const (
	// CompletionPromoted: all steps were completed.
	CompletionPromoted CompletionStatus = "Promoted"
	// CompletionFastPromoted: a full promotion.
	CompletionFastPromoted CompletionStatus = "FastPromoted"
	// CompletionAborted: the update was aborted.
	CompletionAborted CompletionStatus = "Aborted"
	// CompletionSuperseded: a newer version was applied before the update ended.
	CompletionSuperseded CompletionStatus = "Superseded"
	// CompletionRolledBack: a rollback through all steps.
	CompletionRolledBack CompletionStatus = "RolledBack"
	// CompletionFastRolledBack: a rollback without steps.
	CompletionFastRolledBack CompletionStatus = "FastRolledBack"
)
