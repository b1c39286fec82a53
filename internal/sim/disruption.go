package sim

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Restart is the command of that name: pods that are older than a moment are to be replaced.
func (w *World) Restart(at time.Time) {
	w.Edit(func(ro *v1alpha1.Rollout) { ro.Spec.RestartAt = &metav1.Time{Time: at.Truncate(time.Second)} })
}

// SetBudget is a PodDisruptionBudget: evictions must leave that many pods available. Zero is none.
func (w *World) SetBudget(minAvailable int) { w.minAvailable = minAvailable }

// evict takes a pod away, and reports whether the budget allows that.
func (w *World) evict(name string) bool {
	s, p := w.pod(name)
	available := p.available(w.now, s.minReady())
	if w.minAvailable > 0 && (!available || w.Available() <= w.minAvailable) {
		return false
	}
	if available {
		w.Drained++
		w.Evictions++
	}
	s.pods = slices.DeleteFunc(slices.Clone(s.pods), func(have *pod) bool { return have == p })
	w.wakeSet(s)
	return true
}
