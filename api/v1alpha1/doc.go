// Package v1alpha1 is the wire format of argoproj.io/v1alpha1: Rollout, AnalysisTemplate, ClusterAnalysisTemplate,
// AnalysisRun and Experiment.
//
// The package holds types, names and nothing else. Defaults are resolved in internal/spec and decisions are made in
// internal/plan; no code here may depend on either. The comments of the fields become `kubectl explain`, and the
// kubebuilder markers become the schema by which the API server refuses a bad manifest, so both are written for the person
// who writes the manifest.
//
// Three things are part of the wire although they do not look like it:
//
//   - the order of the fields in CanaryStep and in everything below it, because status.currentStepHash is a hash of the
//     steps' JSON text;
//   - which structs are values and which are pointers, because a value is written as {} where a pointer is left out;
//   - fields without omitempty, because readers of other makes require them.
//
// +groupName=argoproj.io
// +kubebuilder:object:generate=true
package v1alpha1
