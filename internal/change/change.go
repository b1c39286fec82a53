package change

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Change is one write to one object other than the Rollout: [CreateReplicaSet], [UpdateReplicaSet], [DeleteReplicaSet],
// [CreateService], [UpdateService], [DeleteService], [WriteRoute], [UpdatePod], [EvictPod], [ScaleWorkload], [CreateAnalysisRun],
// [TerminateAnalysisRun], [DeleteAnalysisRun], [CreateExperiment], [TerminateExperiment] or [DeleteExperiment].
// What each follows from is in the notes of its plan.
//
//sumtype:decl
type Change interface {
	isChange()
}

// CreateReplicaSet creates a ReplicaSet under a name that follows from the template. If the name is taken or the object is
// refused, the shell asks again with [Observed.CreateFailure].
type CreateReplicaSet struct {
	ReplicaSet *appsv1.ReplicaSet
}

// UpdateReplicaSet changes a ReplicaSet that exists. Only what differs between From and To is written, and only if the object
// still has From's resourceVersion.
type UpdateReplicaSet struct {
	From, To *appsv1.ReplicaSet
}

// DeleteReplicaSet deletes a ReplicaSet without pods, if it still has the resourceVersion given here.
type DeleteReplicaSet struct {
	ReplicaSet *appsv1.ReplicaSet
}

// UpdateService changes what a Service selects, and whose it is. Only what differs between From and To is written, and only if
// the object still has From's resourceVersion.
type UpdateService struct {
	From, To *corev1.Service
}

// UpdatePod changes the labels and annotations of a pod, if it still has From's resourceVersion.
type UpdatePod struct {
	From, To *corev1.Pod
}

// EvictPod asks the API server to evict a pod, which it refuses as long as a PodDisruptionBudget forbids it. The refusal is no
// failure: a later pass asks again.
type EvictPod struct {
	Pod *corev1.Pod
}

func (CreateReplicaSet) isChange() {}
func (UpdatePod) isChange()        {}
func (EvictPod) isChange()         {}
func (UpdateService) isChange()    {}
func (UpdateReplicaSet) isChange() {}
func (DeleteReplicaSet) isChange() {}

// WriteRoute changes an object of a traffic router: only what differs between From and To is written, and only if the object still
// has From's resourceVersion. Without From the object is created, without To deleted.
type WriteRoute struct {
	From, To *unstructured.Unstructured
	// Release: the Rollout does not name the object any more. The shell remembers it if the API server refuses this, for the passes that
	// follow.
	Release bool
	// Independent: nothing waits for this release. The shell also remembers a conflict, or someone who changes the object
	// all the time would keep every reconcile from finishing.
	Independent bool
}

func (WriteRoute) isChange() {}

// ScaleWorkload changes how many pods the Deployment has that a workloadRef refers to, if it still has From's resourceVersion.
type ScaleWorkload struct {
	From, To *appsv1.Deployment
}

func (ScaleWorkload) isChange() {}

// CreateAnalysisRun creates an AnalysisRun under a name that follows from the version. If the name is taken or the object is refused,
// the shell asks again with [Observed.RunFailures].
type CreateAnalysisRun struct {
	Run *v1alpha1.AnalysisRun
}

// TerminateAnalysisRun ends an AnalysisRun: only what differs between From and To is written, and only if the object still has
// From's resourceVersion. AnalysisRuns have no status subresource: such a patch must leave the status alone.
type TerminateAnalysisRun struct {
	From, To *v1alpha1.AnalysisRun
}

// DeleteAnalysisRun deletes an AnalysisRun that has ended, if it still has the resourceVersion given here.
type DeleteAnalysisRun struct {
	Run *v1alpha1.AnalysisRun
}

func (CreateAnalysisRun) isChange()    {}
func (TerminateAnalysisRun) isChange() {}
func (DeleteAnalysisRun) isChange()    {}

// CreateExperiment creates the Experiment of a step under a name that follows from the version and the step. If the name is taken or the
// object is refused, the shell asks again with [Observed.ExperimentFailures].
type CreateExperiment struct {
	Experiment *v1alpha1.Experiment
}

// TerminateExperiment ends an Experiment: only what differs between From and To is written, and only if the object still has From's
// resourceVersion. Experiments have no status subresource: such a patch must leave the status alone.
type TerminateExperiment struct {
	From, To *v1alpha1.Experiment
}

// DeleteExperiment deletes an Experiment that has ended, if it still has the resourceVersion given here.
type DeleteExperiment struct {
	Experiment *v1alpha1.Experiment
}

// CreateService creates a Service for the pods of an Experiment's template.
type CreateService struct {
	Service *corev1.Service
}

// DeleteService deletes such a Service, if it still has the resourceVersion given here.
type DeleteService struct {
	Service *corev1.Service
}

func (CreateExperiment) isChange()    {}
func (TerminateExperiment) isChange() {}
func (DeleteExperiment) isChange()    {}
func (CreateService) isChange()       {}
func (DeleteService) isChange()       {}
