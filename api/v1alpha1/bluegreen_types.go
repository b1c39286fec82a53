package v1alpha1

import "k8s.io/apimachinery/pkg/util/intstr"

// BlueGreenStrategy runs the new version next to the old one, both at full size, and moves all traffic at once by switching the
// selector of a Service.
//
// +kubebuilder:validation:XValidation:rule=`!has(self.previewService) || self.previewService != self.activeService`,message=`previewService must be another Service than activeService; leave it out if there is none`,fieldPath=`.previewService`
type BlueGreenStrategy struct {
	// Name of the Service that carries production traffic. The controller points it at the new version when the update is promoted.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	ActiveService string `json:"activeService"`

	// Name of a Service that always points at the newest version, so that you can test it before it is promoted. Must not be the same
	// as activeService. Defaults to none.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	PreviewService string `json:"previewService,omitempty"`

	// Number of pods that the new version runs until it is about to be promoted. It scales up to spec.replicas before traffic moves.
	// Defaults to spec.replicas.
	// +optional
	// +kubebuilder:validation:Minimum=0
	PreviewReplicaCount *int32 `json:"previewReplicaCount,omitempty"`

	// Whether traffic moves automatically once the new version is available and prePromotionAnalysis has passed. If false, the update
	// waits for `kubectl argo rollouts promote`. Defaults to true.
	// +optional
	AutoPromotionEnabled *bool `json:"autoPromotionEnabled,omitempty"`

	// Seconds to wait before traffic moves automatically, counted from when the new version is available and prePromotionAnalysis has
	// passed. Has no effect if autoPromotionEnabled is false. Defaults to 0: no wait.
	// +optional
	// +kubebuilder:validation:Minimum=0
	AutoPromotionSeconds int32 `json:"autoPromotionSeconds,omitempty"`

	// How many pods may be unavailable: a number, or a percentage of spec.replicas such as "25%", rounded down. Traffic moves to a new
	// version when all but this many of its pods are available. A restart (see restartAt) replaces up to this many pods at a time.
	// Defaults to 0: an update waits for all pods, and a restart starts one pod before it deletes one.
	// +optional
	// +kubebuilder:validation:XValidation:rule=`type(self) == int ? self >= 0 : self.matches('^[0-9]+%?$')`,message=`must be a number of pods such as 1, or a percentage such as 25%; neither can be negative`
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// Seconds that the old version keeps its pods after traffic has moved, so that nodes with stale endpoints still reach live pods
	// and a rollback is fast. Defaults to 30. Less than 30 risks lost requests.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ScaleDownDelaySeconds *int32 `json:"scaleDownDelaySeconds,omitempty"`

	// Number of old versions that may keep their pods for scaleDownDelaySeconds at the same time. The oldest versions beyond it are
	// scaled down immediately. Must not exceed revisionHistoryLimit. Defaults to no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ScaleDownDelayRevisionLimit *int32 `json:"scaleDownDelayRevisionLimit,omitempty"`

	// Seconds that the new version keeps its pods after an update is aborted. 0 keeps them until the next update. Defaults to 30.
	// +optional
	// +kubebuilder:validation:Minimum=0
	AbortScaleDownDelaySeconds *int32 `json:"abortScaleDownDelaySeconds,omitempty"`

	// Analysis that must pass before traffic moves. A failure aborts the update.
	// +optional
	PrePromotionAnalysis *RolloutAnalysis `json:"prePromotionAnalysis,omitempty"`

	// Analysis that must pass after traffic has moved. Only then does the new version become stable; a failure moves traffic back. The
	// old version keeps its pods until the analysis ends, and for at least 30 seconds. If scaleDownDelaySeconds is set, the analysis
	// is stopped once that time has passed since traffic moved.
	// +optional
	PostPromotionAnalysis *RolloutAnalysis `json:"postPromotionAnalysis,omitempty"`

	// Keeps pods of the new version off the nodes of the old one.
	// +optional
	AntiAffinity *AntiAffinity `json:"antiAffinity,omitempty"`

	// Labels and annotations that pods of the new version carry until it is promoted. They are added to and removed from running pods
	// without a restart. Changing them does not create a new version.
	// +optional
	PreviewMetadata *PodTemplateMetadata `json:"previewMetadata,omitempty"`

	// Labels and annotations that pods of the active version carry. They are added to and removed from running pods without a restart.
	// Changing them does not create a new version.
	// +optional
	ActiveMetadata *PodTemplateMetadata `json:"activeMetadata,omitempty"`
}
