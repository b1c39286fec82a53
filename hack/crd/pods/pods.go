// Package pods has pod templates and Jobs as fields of a kind of their own, from which controller-gen makes the schemas that hack/crd puts
// into our CRDs. No API server ever knows the kind.
//
// +groupName=schemas.sluice
// +versionName=v1
package pods

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Pods are what our kinds take from Kubernetes.
//
// +kubebuilder:object:root=true
type Pods struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Template corev1.PodTemplateSpec `json:"template"`
	Job      batchv1.JobSpec        `json:"job"`
}
