package plan

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// CreateExperiment creates the Experiment of a step under a name that follows from the version and the step. If the name is taken or the
// object is refused, the shell asks again with [Observed.ExperimentFailures].
type CreateExperiment struct {
	Experiment *v1alpha1.Experiment
	Reason     string
}

// TerminateExperiment ends an Experiment: only what differs between From and To is written, and only if the object still has From's
// resourceVersion. Experiments have no status subresource: such a patch must leave the status alone.
type TerminateExperiment struct {
	From, To *v1alpha1.Experiment
	Reason   string
}

// DeleteExperiment deletes an Experiment that has ended, if it still has the resourceVersion given here.
type DeleteExperiment struct {
	Experiment *v1alpha1.Experiment
	Reason     string
}

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

func (CreateExperiment) isChange()    {}
func (TerminateExperiment) isChange() {}
func (DeleteExperiment) isChange()    {}
func (CreateService) isChange()       {}
func (DeleteService) isChange()       {}
