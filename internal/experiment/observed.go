package experiment

import (
	"cmp"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// Observed is all that a decision may depend on. The objects are read, never modified, and may be older than the world.
type Observed struct {
	Now time.Time
	// Experiment as read from the API server, defaults not filled in.
	Experiment *v1alpha1.Experiment
	// ReplicaSets and AnalysisRuns that the Experiment controls, in any order.
	ReplicaSets  []*appsv1.ReplicaSet
	AnalysisRuns []*v1alpha1.AnalysisRun
	// Services that the Experiment controls, and those that have a name that it wants.
	Services []*corev1.Service
	// Rollout is the one whose step the Experiment is, read from the API server in this very pass; nil where there is none. It is looked at
	// only where a plan has asked for it, and then RolloutRead is true.
	Rollout     *v1alpha1.Rollout
	RolloutRead bool
	// Templates are the AnalysisTemplates and ClusterAnalysisTemplates that the spec refers to, and those that they refer to in
	// turn, as far as they exist.
	Templates analysis.Templates
	// CreateFailures are why objects that earlier plans of this same pass wanted could not be created.
	CreateFailures []CreateFailure
}

// Kind is what an Experiment creates.
type Kind string

// The kinds that an Experiment creates.
const (
	ReplicaSet  Kind = "ReplicaSet"
	Service     Kind = "Service"
	AnalysisRun Kind = "AnalysisRun"
)

// CreateFailure is the API server's refusal to create an object, of a kind that a retry does not fix.
type CreateFailure struct {
	Kind Kind
	change.CreateFailure
}

func (o Observed) failureOf(kind Kind, name string) (change.CreateFailure, bool) {
	for _, f := range o.CreateFailures {
		if f.Kind == kind && f.Name == name {
			return f.CreateFailure, true
		}
	}
	return change.CreateFailure{}, false
}

// template is one of the versions that the Experiment runs.
type template struct {
	spec.ExperimentTemplate
	// set is its ReplicaSet, nil while there is none.
	set *appsv1.ReplicaSet
	// was is its status as observed, is the one to record.
	was, is v1alpha1.TemplateStatus
}

// sortTemplates finds what belongs to each template. What belongs to none, since the spec has it no more, is left over.
func (p *pass) sortTemplates() {
	for _, t := range p.spec.Templates {
		was := v1alpha1.TemplateStatus{Name: t.Name}
		if i := slices.IndexFunc(p.was.TemplateStatuses, func(s v1alpha1.TemplateStatus) bool { return s.Name == t.Name }); i >= 0 {
			was = p.was.TemplateStatuses[i]
		}
		p.templates = append(p.templates, &template{ExperimentTemplate: t, set: p.setOf(t.Name), was: was, is: *was.DeepCopy()})
	}
}

// setOf is the ReplicaSet of a template. The annotation is wire format, and tells also where a name was taken and another is used.
func (o Observed) setOf(name string) *appsv1.ReplicaSet {
	var found *appsv1.ReplicaSet
	for _, set := range o.ReplicaSets {
		if set.Annotations[v1alpha1.ExperimentTemplateNameAnnotation] != name || set.DeletionTimestamp != nil {
			continue
		}
		if found == nil || cmp.Compare(set.Name, found.Name) < 0 {
			found = set
		}
	}
	return found
}

// service is a Service by its name, nil if there is none.
func (o Observed) service(name string) *corev1.Service {
	for _, s := range o.Services {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// owns reports whether an object is this Experiment's own.
func (o Observed) owns(obj metav1.Object) bool { return metav1.IsControlledBy(obj, o.Experiment) }

// Leaving reports whether a name is going to be free: its object is being deleted, or is of another Experiment, which takes it away
// with its pods.
func Leaving(obj metav1.Object) bool {
	owner := metav1.GetControllerOfNoCopy(obj)
	return obj.GetDeletionTimestamp() != nil || owner != nil && owner.Kind == v1alpha1.KindExperiment
}

func desired(set *appsv1.ReplicaSet) int32 {
	switch {
	case set == nil:
		return 0
	case set.Spec.Replicas == nil:
		return 1 // as Kubernetes reads it
	}
	return *set.Spec.Replicas
}

// counted reports whether the ReplicaSet controller has seen the newest size.
func counted(set *appsv1.ReplicaSet) bool { return set.Status.ObservedGeneration >= set.Generation }
