package sim

import (
	"slices"
	"strconv"
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

// restart reads "restart", which is now, or "restart in 1h".
func (s *Script) restart(args []string) (string, error) {
	at := s.World.Now()
	if len(args) > 0 {
		d, err := time.ParseDuration(last(args))
		if err != nil {
			return "", err
		}
		at = at.Add(d)
	}
	s.World.Restart(at)
	return "", nil
}

// budget reads "budget 3" or "budget none".
func (s *Script) budget(args []string) (string, error) {
	if last(args) == "none" {
		s.World.SetBudget(0)
		return "", nil
	}
	n, err := strconv.Atoi(last(args))
	s.World.SetBudget(n)
	return "", err
}
