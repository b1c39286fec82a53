package playtest

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// CreateExperiment creates an Experiment from YAML.
func (ns *Namespace) CreateExperiment(manifest string) *v1alpha1.Experiment {
	ns.t.Helper()
	var ex v1alpha1.Experiment
	if err := yaml.Unmarshal([]byte(manifest), &ex); err != nil || len(ex.Unreadable) > 0 {
		ns.t.Fatal(err, ex.Unreadable)
	}
	ex.Namespace = ns.Name
	if err := ns.Client.Create(ns.t.Context(), &ex); err != nil {
		ns.t.Fatal(err)
	}
	return &ex
}

// PatchExperiment merges JSON into an Experiment, its status included.
func (ns *Namespace) PatchExperiment(name, patch string) {
	ns.t.Helper()
	var ex v1alpha1.Experiment
	ex.Namespace, ex.Name = ns.Name, name
	if err := ns.Client.Patch(ns.t.Context(), &ex, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		ns.t.Fatal(err)
	}
}

// Experiments lists the namespace's Experiments.
func (ns *Namespace) Experiments() []v1alpha1.Experiment {
	ns.t.Helper()
	var list v1alpha1.ExperimentList
	if err := ns.Client.List(ns.t.Context(), &list, client.InNamespace(ns.Name)); err != nil {
		ns.t.Fatal(err)
	}
	return list.Items
}

// Services lists the namespace's Services.
func (ns *Namespace) Services() []corev1.Service {
	ns.t.Helper()
	var list corev1.ServiceList
	if err := ns.Client.List(ns.t.Context(), &list, client.InNamespace(ns.Name)); err != nil {
		ns.t.Fatal(err)
	}
	return list.Items
}

// WaitForServices watches the Services of the namespace until all are as wanted; what says what that is.
func (ns *Namespace) WaitForServices(what string, wanted func([]corev1.Service) bool) {
	ns.t.Helper()
	var list corev1.ServiceList
	ns.waitForAll(&list, "Services "+what, func() bool { return wanted(list.Items) })
}

// WaitForExperiment watches an Experiment until it is as wanted; what says what that is.
func (ns *Namespace) WaitForExperiment(name, what string, wanted func(*v1alpha1.Experiment) bool) *v1alpha1.Experiment {
	ns.t.Helper()
	ctx, cancel := context.WithTimeout(ns.t.Context(), Patience)
	defer cancel()
	var last *v1alpha1.Experiment
	err := await(ctx, ns.Client, &v1alpha1.ExperimentList{}, ns.Name, name, func(ex *v1alpha1.Experiment) bool {
		last = ex.DeepCopy()
		return wanted(ex)
	})
	if err != nil {
		status := "it was never seen"
		if last != nil {
			text, _ := yaml.Marshal(last.Status) // for people to read; what cannot be shown is left out
			status = string(text)
		}
		ns.t.Fatalf("wait for experiment %s %s: %v; its last status:\n%s", name, what, err, status)
	}
	return last
}

// InPhase returns a predicate: the Experiment is in a phase.
func InPhase(phase v1alpha1.AnalysisPhase) func(*v1alpha1.Experiment) bool {
	return func(ex *v1alpha1.Experiment) bool { return ex.Status.Phase == phase }
}
