// Package v1alpha1 is the wire format of argoproj.io/v1alpha1: Rollout, AnalysisTemplate, ClusterAnalysisTemplate,
// AnalysisRun and Experiment.
//
// The package contains only types and names. Defaults are resolved in internal/spec and decisions are made in
// internal/plan; no code here may depend on either. The comments of the fields become `kubectl explain`, and the
// kubebuilder markers become the schema that the API server validates manifests against, so both are written for people
// who write manifests.
//
// Three things are part of the wire format although they do not look like it:
//
//   - the order of the fields in CanaryStep and in everything below it, because status.currentStepHash is a hash of the
//     steps' JSON text;
//   - which structs are values and which are pointers, because a value is written as {} where a pointer is left out;
//   - fields without omitempty, because other clients require them.
//
// +groupName=argoproj.io
// +kubebuilder:object:generate=true
package v1alpha1
