package sim

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// The garbage collector: what belongs to an Experiment goes with it. So does, some time later, what is created in the name of one that is
// gone, as by a controller whose cache still shows it.

// expectOwner has the garbage collector look if something is created whose owner is gone.
func (w *World) expectOwner(created Object) {
	if w.ownerless(created) {
		w.collectAt = earliest(w.collectAt, w.now.Add(w.Lag()))
	}
}

// ownerless reports whether something belongs to an Experiment that is gone. One of the same name is another one.
func (w *World) ownerless(obj Object) bool {
	return OfExperiment(obj) && !slices.ContainsFunc(w.objects.experiments.now, func(ex *v1alpha1.Experiment) bool { return metav1.IsControlledBy(obj, ex) })
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
	for _, kept := range []keeper{&w.objects.replicaSets, &w.objects.services, &w.objects.runs} {
		kept.remove(w, w.ownerless)
	}
}
