package v1alpha1

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RolloutStatus is what the controller has observed and what it is in the middle of.
type RolloutStatus struct {
	// Whether the update is aborted. Set by a user, or by the controller when an analysis fails; cleared by a retry, and
	// when the spec describes the stable version again.
	// +optional
	Abort bool `json:"abort,omitempty"`

	// The pauses that are in force. A user resumes the update by setting this to null.
	// +optional
	PauseConditions []PauseCondition `json:"pauseConditions,omitempty"`

	// Whether the controller made the pause in pauseConditions. When this is true and pauseConditions is empty, a user has
	// resumed the update.
	// +optional
	ControllerPause bool `json:"controllerPause,omitempty"`

	// When the update was last aborted.
	// +optional
	AbortedAt *metav1.Time `json:"abortedAt,omitempty"`

	// Hash of the version that the spec describes.
	// +optional
	CurrentPodHash string `json:"currentPodHash,omitempty"`

	// Hash of the steps that currentStepIndex counts in. Empty for blue-green.
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

	// Index of the step that is being done, counting from 0; the number of steps when all are done. Absent without steps.
	// +optional
	CurrentStepIndex *int32 `json:"currentStepIndex,omitempty"`

	// Number of times that the name of a new ReplicaSet was taken by another version.
	// +optional
	CollisionCount *int32 `json:"collisionCount,omitempty"`

	// The metadata.generation that this status is about, as a decimal number in a string. Anything else in it, as very old
	// objects have, counts as observed.
	// +optional
	ObservedGeneration string `json:"observedGeneration,omitempty"`

	// How the Rollout is doing, aspect by aspect.
	// +optional
	Conditions []RolloutCondition `json:"conditions,omitempty"`

	// What only canary Rollouts have.
	// +optional
	Canary CanaryStatus `json:"canary,omitempty"`

	// What only blue-green Rollouts have.
	// +optional
	BlueGreen BlueGreenStatus `json:"blueGreen,omitempty"`

	// Number of pods that an autoscaler counts: of all versions in a canary, of the active version in blue-green. The scale
	// subresource reads it by this name.
	// +optional
	HPAReplicas int32 `json:"HPAReplicas,omitempty"`

	// Label selector, as a text, of the pods that an autoscaler counts. The scale subresource reads it.
	// +optional
	Selector string `json:"selector,omitempty"`

	// Hash of the stable version: the last one that was promoted. Not the name of its ReplicaSet.
	// +optional
	StableRS string `json:"stableRS,omitempty"`

	// The spec.restartAt for which all pods have been restarted.
	// +optional
	RestartedAt *metav1.Time `json:"restartedAt,omitempty"`

	// Whether the rest of this update skips steps, pauses and analyses. Set by a user; cleared when the update ends.
	// +optional
	PromoteFull bool `json:"promoteFull,omitempty"`

	// How the Rollout is doing, in one word: Healthy, Progressing, Paused or Degraded.
	// +optional
	Phase RolloutPhase `json:"phase,omitempty"`

	// What the phase is waiting for or was caused by, in a sentence.
	// +optional
	Message string `json:"message,omitempty"`

	// The generation of the object that workloadRef names that this status is about, as a decimal number in a string.
	// +optional
	WorkloadObservedGeneration string `json:"workloadObservedGeneration,omitempty"`

	// The load balancer of the last of albs. Kept for readers that know one only.
	// +optional
	ALB *ALBStatus `json:"alb,omitempty"`

	// The load balancers found while AWS target groups are verified, one for each Ingress.
	// +optional
	ALBs []ALBStatus `json:"albs,omitempty"`

	// How long the update has taken or took.
	// +optional
	Duration *RolloutDuration `json:"duration,omitempty"`
}

// CanaryStatus is what only canary Rollouts have.
type CanaryStatus struct {
	// The AnalysisRun of the current step.
	// +optional
	CurrentStepAnalysisRunStatus *RolloutAnalysisRunStatus `json:"currentStepAnalysisRunStatus,omitempty"`

	// The AnalysisRun in the background.
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

	// The states of plugin steps.
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

// BlueGreenStatus is what only blue-green Rollouts have.
type BlueGreenStatus struct {
	// Hash of the version that the preview Service points at.
	// +optional
	PreviewSelector string `json:"previewSelector,omitempty"`

	// Hash of the version that the active Service points at.
	// +optional
	ActiveSelector string `json:"activeSelector,omitempty"`

	// Whether the new version may grow from previewReplicaCount to spec.replicas.
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

	// Its phase.
	Status AnalysisPhase `json:"status"`

	// Its message.
	// +optional
	Message string `json:"message,omitempty"`
}

// TrafficWeights is the weights that the traffic routers were last set to. They add up to maxTrafficWeight, 100 unless set.
type TrafficWeights struct {
	// What the new version gets.
	Canary WeightDestination `json:"canary"`

	// What the stable version gets.
	Stable WeightDestination `json:"stable"`

	// What the templates of a running experiment get.
	// +optional
	Additional []WeightDestination `json:"additional,omitempty"`

	// Whether the routers confirm that the weights are in force. Absent where no router can tell.
	// +optional
	Verified *bool `json:"verified,omitempty"`
}

// WeightDestination is a share of the traffic and where it goes.
type WeightDestination struct {
	// The share.
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

	// What was last asked of the plugin.
	// +optional
	Operation StepPluginOperation `json:"operation,omitempty"`

	// How that ended, or Running.
	// +optional
	Phase StepPluginPhase `json:"phase,omitempty"`

	// What the plugin says about it.
	// +optional
	Message string `json:"message,omitempty"`

	// When it was first asked.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`

	// When this entry was last written.
	// +optional
	UpdatedAt *metav1.Time `json:"updatedAt,omitempty"`

	// When it ended.
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`

	// How long to wait before it is asked again.
	// +optional
	Backoff DurationString `json:"backoff,omitempty"`

	// How often it has been asked.
	// +optional
	Executions int32 `json:"executions,omitempty"`

	// Whether the plugin is switched off by the administrator, in which case the step counts as done.
	// +optional
	Disabled bool `json:"disabled,omitempty"`

	// What the plugin wants to be given the next time, in its own form.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Status json.RawMessage `json:"status,omitempty"`
}

// StepPluginOperation is what a step plugin is asked to do.
type StepPluginOperation string

const (
	// StepPluginRun does the step.
	StepPluginRun StepPluginOperation = "Run"
	// StepPluginTerminate stops a step that is running.
	StepPluginTerminate StepPluginOperation = "Terminate"
	// StepPluginAbort undoes a step because the update is aborted.
	StepPluginAbort StepPluginOperation = "Abort"
)

// StepPluginPhase is how an operation of a step plugin is doing.
type StepPluginPhase string

const (
	// StepPluginRunning has not ended.
	StepPluginRunning StepPluginPhase = "Running"
	// StepPluginSuccessful is done; the update continues.
	StepPluginSuccessful StepPluginPhase = "Successful"
	// StepPluginFailed aborts the update.
	StepPluginFailed StepPluginPhase = "Failed"
	// StepPluginError is tried again.
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

// AwsResourceRef names a resource of AWS.
type AwsResourceRef struct {
	// Its name.
	Name string `json:"name"`

	// Its ARN.
	ARN string `json:"arn"`

	// The last part of its ARN, by which CloudWatch knows it.
	FullName string `json:"fullName"`
}

// RolloutDuration is how long an update has taken or took.
type RolloutDuration struct {
	// When the update began.
	// +optional
	RolloutStartedAt *metav1.Time `json:"rolloutStartedAt,omitempty"`

	// When the pause began in which the update waits for a person. Absent when it does not.
	// +optional
	ManualPauseStartedAt *metav1.Time `json:"manualPauseStartedAt,omitempty"`

	// Seconds that the update has waited for a person, without the pause that is in force. Absent until the first such pause ends.
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
	// CompletionPromoted: by all its steps.
	CompletionPromoted CompletionStatus = "Promoted"
	// CompletionFastPromoted: by a full promotion.
	CompletionFastPromoted CompletionStatus = "FastPromoted"
	// CompletionAborted: the update was given up.
	CompletionAborted CompletionStatus = "Aborted"
	// CompletionSuperseded: a newer version came before it was done.
	CompletionSuperseded CompletionStatus = "Superseded"
	// CompletionRolledBack: an earlier version was brought back by all steps.
	CompletionRolledBack CompletionStatus = "RolledBack"
	// CompletionFastRolledBack: an earlier version was brought back without steps.
	CompletionFastRolledBack CompletionStatus = "FastRolledBack"
)
