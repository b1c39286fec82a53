package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RolloutCondition is one aspect of how the Rollout is doing.
type RolloutCondition struct {
	// Which aspect.
	Type RolloutConditionType `json:"type"`

	// Whether it holds: True, False or Unknown.
	Status corev1.ConditionStatus `json:"status"`

	// When the condition was last written, even if only progress was noted.
	LastUpdateTime metav1.Time `json:"lastUpdateTime"`

	// When status last changed.
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`

	// Why, in one word for programs.
	Reason string `json:"reason"`

	// Why, in a sentence for people.
	Message string `json:"message"`
}

// RolloutConditionType is an aspect of a Rollout that a condition tells about.
type RolloutConditionType string

// The conditions of a Rollout.
const (
	// ConditionInvalidSpec is present and True while the spec, or an object that it refers to, is invalid. Nothing is done
	// until it is fixed. An object that does not exist is not reported in the first two seconds of a Rollout.
	ConditionInvalidSpec RolloutConditionType = "InvalidSpec"

	// ConditionAvailable is True while enough pods are available: all of the active version's in a blue-green Rollout,
	// spec.replicas of any version in a canary.
	ConditionAvailable RolloutConditionType = "Available"

	// ConditionProgressing is True while an update makes progress or is done, False when it was aborted or is stuck, and
	// Unknown while it is paused. Its lastUpdateTime is when progress was last seen.
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

// ConditionPodMetadataFailure is present and True while pods lack the labels and annotations of their version's part because the API
// server refuses to change them. It blocks nothing.
const ConditionPodMetadataFailure RolloutConditionType = "PodMetadataFailure"

// ConditionRouteReleaseFailure is present and True while an object of a traffic router still has something that was added for this Rollout,
// which no longer names the object, and the API server refuses to have it removed.
const ConditionRouteReleaseFailure RolloutConditionType = "RouteReleaseFailure"

// ReasonRouteUpdateRefused is of the condition RouteReleaseFailure.
const ReasonRouteUpdateRefused = "RouteUpdateRefused"

// ReasonPodUpdateRefused is of the condition PodMetadataFailure.
const ReasonPodUpdateRefused = "PodUpdateRefused"

// ReasonCanaryOverload is of the condition of that name: setCanaryScale asks for fewer pods than a setWeight after it.
const ReasonCanaryOverload = "CanaryOverload"

// Reasons of the condition Progressing.
const (
	// ReasonNewReplicaSetCreated: a ReplicaSet for a new version was created. Also an event.
	ReasonNewReplicaSetCreated = "NewReplicaSetCreated"

	// ReasonFoundNewReplicaSet: the version that the spec describes has a ReplicaSet already, and it is used.
	ReasonFoundNewReplicaSet = "FoundNewReplicaSet"

	// ReasonReplicaSetUpdated: pods were added, removed or became ready.
	ReasonReplicaSetUpdated = "ReplicaSetUpdated"

	// ReasonReplicaSetNotAvailable: a Rollout that was done has lost available pods and waits for them.
	ReasonReplicaSetNotAvailable = "ReplicaSetNotAvailable"

	// ReasonNewReplicaSetAvailable: the update is done and the new version is available.
	ReasonNewReplicaSetAvailable = "NewReplicaSetAvailable"

	// ReasonRolloutPaused: the Rollout is paused. Also the reason of the condition Paused, and an event.
	ReasonRolloutPaused = "RolloutPaused"

	// ReasonRolloutResumed: the Rollout continues after a pause. Also an event.
	ReasonRolloutResumed = "RolloutResumed"

	// ReasonRolloutRetry: an update that was aborted is tried again.
	ReasonRolloutRetry = "RolloutRetry"

	// ReasonRolloutAborted: the update was aborted and traffic returned to the stable version. Also an event.
	ReasonRolloutAborted = "RolloutAborted"

	// ReasonProgressDeadlineExceeded: no progress was seen for progressDeadlineSeconds.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"

	// ReasonReplicaSetCreateError: a ReplicaSet could not be created. Also an event.
	ReasonReplicaSetCreateError = "ReplicaSetCreateError"

	// ReasonWriteRefused begins status.message, and is an event: the API server refused to have an object changed.
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

	// RolloutPhaseDegraded: the spec is wrong, the update was aborted, or it is stuck.
	RolloutPhaseDegraded RolloutPhase = "Degraded"

	// RolloutPhaseProgressing: an update, a restart or a change of size is under way.
	RolloutPhaseProgressing RolloutPhase = "Progressing"

	// RolloutPhasePaused: the Rollout waits for a user or for time to pass.
	RolloutPhasePaused RolloutPhase = "Paused"
)

// PauseCondition is a pause that is in force.
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
	// PauseReasonCanaryPauseStep: the update has come to a pause step.
	PauseReasonCanaryPauseStep PauseReason = "CanaryPauseStep"

	// PauseReasonBlueGreenPause: the new version is up and waits to be promoted.
	PauseReasonBlueGreenPause PauseReason = "BlueGreenPause"

	// PauseReasonInconclusiveAnalysis: an analysis could not tell whether the new version is good.
	PauseReasonInconclusiveAnalysis PauseReason = "InconclusiveAnalysisRun"

	// PauseReasonInconclusiveExperiment: an experiment could not tell whether the new version is good.
	PauseReasonInconclusiveExperiment PauseReason = "InconclusiveExperiment"
)
