package plan

import corev1 "k8s.io/api/core/v1"

// CreateService creates a Service for the pods of an Experiment's template.
type CreateService struct {
	Service *corev1.Service
	Reason  string
}

// DeleteService deletes such a Service, if it still has the resourceVersion given here.
type DeleteService struct {
	Service *corev1.Service
	Reason  string
}

func (CreateService) isChange() {}
func (DeleteService) isChange() {}
