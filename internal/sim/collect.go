package sim

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// The garbage collector: what belongs to an Experiment goes with it. So does, some time later, what is created in the name of one that is
// gone, as by a controller whose cache still shows it.

// expectOwner has the garbage collector look if something is created whose owner is gone.
func (w *World) expectOwner(created metav1.Object) {
	if w.ownerless(created) {
		w.collectAt = earliest(w.collectAt, w.now.Add(w.Lag()))
	}
}

// ownerless reports whether something belongs to an Experiment that is gone. One of the same name is another one.
func (w *World) ownerless(obj metav1.Object) bool {
	return ofExperiment(obj) && !slices.ContainsFunc(w.experiments.all, func(ex *v1alpha1.Experiment) bool { return metav1.IsControlledBy(obj, ex) })
}

// collect deletes what belongs to Experiments that are gone, if it is time, and reports whether it was.
func (w *World) collect() bool {
	if w.collectAt.IsZero() || w.collectAt.After(w.now) {
		return false
	}
	w.collectAt = time.Time{}
	w.deleteOwnerless()
	return true
}

func (w *World) deleteOwnerless() {
	w.sets = slices.DeleteFunc(slices.Clone(w.sets), func(s *set) bool { return w.ownerless(s) })
	w.snapshotSets()
	w.putServices(slices.DeleteFunc(slices.Clone(w.services), func(s *corev1.Service) bool { return w.ownerless(s) }))
	w.putRuns(slices.DeleteFunc(slices.Clone(w.analyses.runs), func(run *v1alpha1.AnalysisRun) bool { return w.ownerless(run) }))
}

// sameOwner reports whether what is there under a name belongs to whom a controller wanted to create it for: then an earlier pass made it.
func sameOwner(have, want metav1.Object) bool {
	a, b := metav1.GetControllerOfNoCopy(have), metav1.GetControllerOfNoCopy(want)
	return a != nil && b != nil && a.UID == b.UID
}
