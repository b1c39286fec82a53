package world

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// RunFailure is why an AnalysisRun of a name could not be created, nil if it was not tried or could.
func (w *World) RunFailure(name string) *change.CreateFailure {
	for i := range w.RunFailures {
		if w.RunFailures[i].Name == name {
			return &w.RunFailures[i]
		}
	}
	return nil
}

// Experiment is the one of a name that is there and stays, nil if there is none.
func (w *World) Experiment(name string) *v1alpha1.Experiment {
	for _, ex := range w.Experiments {
		if ex.Name == name && ex.DeletionTimestamp == nil {
			return ex
		}
	}
	return nil
}

// IsTaken reports whether an Experiment's name is another object's, or that of one before it.
func (w *World) IsTaken(name string) bool {
	failure := w.ExperimentFailure(name)
	return failure != nil && failure.Taken || slices.ContainsFunc(w.Experiments, func(ex *v1alpha1.Experiment) bool { return ex.Name == name })
}

// ExperimentFailure is why an Experiment of a name could not be created, nil if it was not tried or could.
func (w *World) ExperimentFailure(name string) *change.CreateFailure {
	for i := range w.ExperimentFailures {
		if w.ExperimentFailures[i].Name == name {
			return &w.ExperimentFailures[i]
		}
	}
	return nil
}

// HasPods reports whether an Experiment has pods by its status.
func HasPods(ex *v1alpha1.Experiment) bool {
	return slices.ContainsFunc(ex.Status.TemplateStatuses, func(t v1alpha1.TemplateStatus) bool { return t.Replicas > 0 })
}

// ExperimentSet is the ReplicaSet that an Experiment has for a template, nil if there is none. The Experiment's status names it as well, but
// anyone who can write Experiments can write that.
func (w *World) ExperimentSet(ex *v1alpha1.Experiment, template string) *appsv1.ReplicaSet {
	return analysis.FirstNamed(w.ExperimentSets, func(set *appsv1.ReplicaSet) bool {
		return metav1.IsControlledBy(set, ex) && set.DeletionTimestamp == nil && set.Annotations[v1alpha1.ExperimentTemplateNameAnnotation] == template
	})
}

// ExperimentService is the Service by which a template's pods get traffic, nil if there is none: the one that the step's spec names, and that the
// Experiment controls.
func (w *World) ExperimentService(ex *v1alpha1.Experiment, t *v1alpha1.RolloutExperimentTemplate) *corev1.Service {
	name := spec.ExperimentChildName(ex.Name, t.Name)
	if t.Service != nil && t.Service.Name != "" {
		name = t.Service.Name
	}
	i := slices.IndexFunc(w.ExperimentServices, func(s *corev1.Service) bool {
		return s.Name == name && metav1.IsControlledBy(s, ex) && s.DeletionTimestamp == nil
	})
	if i < 0 {
		return nil
	}
	return w.ExperimentServices[i]
}

// Run is the AnalysisRun of a name that is there and stays, nil if there is none.
func (w *World) Run(name string) *v1alpha1.AnalysisRun {
	for _, run := range w.AnalysisRuns {
		if run.Name == name && run.DeletionTimestamp == nil {
			return run
		}
	}
	return nil
}
