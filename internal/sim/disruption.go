package sim

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Restart is the command of that name: pods that are older than a moment are to be replaced.
func (w *World) Restart(at time.Time) {
	w.Edit(func(ro *v1alpha1.Rollout) { ro.Spec.RestartAt = &metav1.Time{Time: at.Truncate(time.Second)} })
}

// SetBudget is a PodDisruptionBudget: evictions must leave that many pods available. Zero is none.
func (w *World) SetBudget(minAvailable int) { w.minAvailable = minAvailable }

// evict takes a pod away, if the budget allows. If not that is no failure: a later pass asks again.
func (a *application) evict(victim *corev1.Pod) {
	if !a.may() {
		return
	}
	for _, s := range a.sets {
		i := slices.IndexFunc(s.pods, func(p *pod) bool { return p.name == victim.Name })
		if i < 0 {
			continue
		}
		p := s.pods[i]
		if p.version != victim.ResourceVersion {
			a.Writes--
			a.Conflict = true
			return
		}
		available := p.available(a.now, s.minReady())
		if a.minAvailable > 0 && (!available || a.Available() <= a.minAvailable) {
			a.Writes--
			return
		}
		if available {
			a.Drained++
			a.Evictions++
		}
		s.pods = slices.Delete(slices.Clone(s.pods), i, i+1)
		a.wakeSet(s)
		return
	}
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
