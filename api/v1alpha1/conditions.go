package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RolloutCondition describes one aspect of a Rollout.
type RolloutCondition struct {
	// Type of the condition.
	Type RolloutConditionType `json:"type"`

	// Whether the condition holds: True, False or Unknown.
	Status corev1.ConditionStatus `json:"status"`

	// When the condition was last written, even if only to record progress.
	LastUpdateTime metav1.Time `json:"lastUpdateTime"`

	// When status last changed.
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`

	// The reason for the status, in one word for programs.
	Reason string `json:"reason"`

	// The reason for the status, in a sentence for people.
	Message string `json:"message"`
}

// RolloutConditionType is the type of a condition of a Rollout.
type RolloutConditionType string

// The conditions of a Rollout.
const (
	// ConditionInvalidSpec is present and True while the spec, or an object that it refers to, is invalid. The controller
	// does nothing until it is fixed. A missing object is not reported in the first two seconds of a Rollout.
	ConditionInvalidSpec RolloutConditionType = "InvalidSpec"

	// ConditionAvailable is True while enough pods are available: all of the active version's in a blue-green Rollout,
	// spec.replicas of any version in a canary.
	ConditionAvailable RolloutConditionType = "Available"

	// ConditionProgressing is True while an update makes progress or is complete, False when it was aborted or is stuck, and
	// Unknown while it is paused. Its lastUpdateTime is when progress was last observed.
	ConditionProgressing RolloutConditionType = "Progressing"

	// ConditionReplicaFailure is True while a ReplicaSet cannot create or delete its pods.
	ConditionReplicaFailure RolloutConditionType = "ReplicaFailure"

	// ConditionPaused is True while the Rollout is paused, by a step or by a user.
	ConditionPaused RolloutConditionType = "Paused"

	// ConditionCompleted is True while the stable version is the one that the spec describes.
	ConditionCompleted RolloutConditionType = "Completed"

	// ConditionHealthy is True while the Rollout is completed and all its pods are available.
	ConditionHealthy RolloutConditionType = "Healthy"

	// ConditionCanaryOverload is present when the steps send the new version a larger share of the traffic than its share of the pods,
	// because setCanaryScale sizes it independently of setWeight. True during an update, False otherwise. It is a warning and blocks nothing.
	ConditionCanaryOverload RolloutConditionType = "CanaryOverload"
)

// ConditionPodMetadataFailure is present and True while pods lack the labels and annotations of their version's role because
// the API server rejects the change. It blocks nothing.
const ConditionPodMetadataFailure RolloutConditionType = "PodMetadataFailure"

// ConditionRouteReleaseFailure is present and True while a traffic router's object still contains something that was added
// for this Rollout, the spec no longer names the object, and the API server rejects the removal.
const ConditionRouteReleaseFailure RolloutConditionType = "RouteReleaseFailure"

// ReasonRouteUpdateRefused is the reason of the condition RouteReleaseFailure.
const ReasonRouteUpdateRefused = "RouteUpdateRefused"

// ReasonPodUpdateRefused is the reason of the condition PodMetadataFailure.
const ReasonPodUpdateRefused = "PodUpdateRefused"

// ReasonCanaryOverload is the reason of the condition of that name: setCanaryScale requests fewer pods than a later
// setWeight needs.
const ReasonCanaryOverload = "CanaryOverload"

// Reasons of the condition Progressing.
const (
	// ReasonNewReplicaSetCreated: a ReplicaSet for a new version was created. Also an event.
	ReasonNewReplicaSetCreated = "NewReplicaSetCreated"

	// ReasonFoundNewReplicaSet: the version that the spec describes already has a ReplicaSet, which is used.
	ReasonFoundNewReplicaSet = "FoundNewReplicaSet"

	// ReasonReplicaSetUpdated: pods were added, removed or became ready.
	ReasonReplicaSetUpdated = "ReplicaSetUpdated"

	// ReasonReplicaSetNotAvailable: a completed Rollout has lost available pods and waits for them.
	ReasonReplicaSetNotAvailable = "ReplicaSetNotAvailable"

	// ReasonNewReplicaSetAvailable: the update is complete and the new version is available.
	ReasonNewReplicaSetAvailable = "NewReplicaSetAvailable"

	// ReasonRolloutPaused: the Rollout is paused. Also the reason of the condition Paused, and an event.
	ReasonRolloutPaused = "RolloutPaused"

	// ReasonRolloutResumed: the Rollout continues after a pause. Also an event.
	ReasonRolloutResumed = "RolloutResumed"

	// ReasonRolloutRetry: an update that was aborted is tried again.
	ReasonRolloutRetry = "RolloutRetry"

	// ReasonRolloutAborted: the update was aborted and traffic returned to the stable version. Also an event.
	ReasonRolloutAborted = "RolloutAborted"

	// ReasonProgressDeadlineExceeded: no progress was observed for progressDeadlineSeconds.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"

	// ReasonReplicaSetCreateError: a ReplicaSet could not be created. Also an event.
	ReasonReplicaSetCreateError = "ReplicaSetCreateError"

	// ReasonWriteRefused begins status.message, and is an event: the API server rejected a write.
	ReasonWriteRefused = "WriteRefused"
)

// Reasons of the other conditions.
const (
	// ReasonInvalidSpec is the only reason of the condition InvalidSpec.
	ReasonInvalidSpec = "InvalidSpec"

	// ReasonAvailable is the only reason of the condition Available, whether it is True or False.
	ReasonAvailable = "AvailableReason"

	// ReasonRolloutCompleted is the only reason of the condition Completed. Also an event.
	ReasonRolloutCompleted = "RolloutCompleted"

	// ReasonRolloutHealthy is the only reason of the condition Healthy, whether it is True or False.
	ReasonRolloutHealthy = "RolloutHealthy"
)

// RolloutPhase is how a Rollout is doing, in one word.
type RolloutPhase string

// The phases of a Rollout.
const (
	// RolloutPhaseHealthy: the version that the spec describes serves with all its pods.
	RolloutPhaseHealthy RolloutPhase = "Healthy"

	// RolloutPhaseDegraded: the spec is invalid, the update was aborted, or it is stuck.
	RolloutPhaseDegraded RolloutPhase = "Degraded"

	// RolloutPhaseProgressing: an update, a restart or a change of size is in progress.
	RolloutPhaseProgressing RolloutPhase = "Progressing"

	// RolloutPhasePaused: the Rollout waits for a user or for time to pass.
	RolloutPhasePaused RolloutPhase = "Paused"
)

// PauseCondition is a pause that is in effect.
type PauseCondition struct {
	// Why the Rollout is paused.
	Reason PauseReason `json:"reason"`

	// When the pause began.
	StartTime metav1.Time `json:"startTime"`
}

// PauseReason is why the controller paused a Rollout.
type PauseReason string

// The reasons for which the controller pauses.
const (
	// PauseReasonCanaryPauseStep: the update has reached a pause step.
	PauseReasonCanaryPauseStep PauseReason = "CanaryPauseStep"

	// PauseReasonBlueGreenPause: the new version is available and waits to be promoted.
	PauseReasonBlueGreenPause PauseReason = "BlueGreenPause"

	// PauseReasonInconclusiveAnalysis: an analysis was inconclusive.
	PauseReasonInconclusiveAnalysis PauseReason = "InconclusiveAnalysisRun"

	// PauseReasonInconclusiveExperiment: an experiment was inconclusive.
	PauseReasonInconclusiveExperiment PauseReason = "InconclusiveExperiment"
)
