package sim

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// NewRollout is a Rollout of one container, ready to be changed and created.
func NewRollout(name, image string, replicas int32) *v1alpha1.Rollout {
	labels := map[string]string{"app": name}
	return &v1alpha1.Rollout{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: v1alpha1.RolloutSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: image}}},
			},
			Strategy: v1alpha1.RolloutStrategy{Canary: &v1alpha1.CanaryStrategy{}},
		},
	}
}

// Create adds the Rollout to the world.
func (w *World) Create(ro *v1alpha1.Rollout) { w.objects.rollouts.create(w, ro.DeepCopy()) }

// Delete removes the Rollout, and what it owns with it.
func (w *World) Delete() {
	w.objects.rollouts.delete(w, w.Rollout())
	all := func(Object) bool { return true }
	w.objects.replicaSets.remove(w, all)
	w.objects.runs.remove(w, all)
}

// Renew deletes the Rollout but not what it owns (kubectl delete --cascade=orphan), and creates it again from its manifest.
func (w *World) Renew() {
	ro := w.Rollout().DeepCopy()
	ro.Status, ro.ResourceVersion = v1alpha1.RolloutStatus{}, ""
	delete(ro.Annotations, v1alpha1.RevisionAnnotation)
	w.orphaned = true
	for _, kept := range []keeper{&w.objects.replicaSets, &w.objects.runs} {
		kept.orphan(w)
	}
	w.objects.rollouts = collection[*v1alpha1.Rollout]{} // which is the newest that any view shows
	w.Create(ro)
}

// orphansOf are those of the ReplicaSets that nobody controls.
func (w *World) orphansOf(sets []*appsv1.ReplicaSet) []*appsv1.ReplicaSet {
	if !w.orphaned {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(sets), func(rs *appsv1.ReplicaSet) bool { return !ofNobody(rs) })
}

func ofNobody(obj metav1.Object) bool { return metav1.GetControllerOfNoCopy(obj) == nil }

// Edit changes the Rollout's metadata and spec.
func (w *World) Edit(change func(*v1alpha1.Rollout)) {
	ro := w.Rollout().DeepCopy()
	change(ro)
	ro.Status = w.Rollout().Status
	w.objects.rollouts.replace(w, ro, false)
}

// EditStatus changes the Rollout's status, as the commands do.
func (w *World) EditStatus(change func(*v1alpha1.RolloutStatus)) {
	ro := *w.Rollout()
	ro.Status = *ro.Status.DeepCopy()
	change(&ro.Status)
	w.objects.rollouts.replace(w, &ro, true)
}

// SetImage starts an update.
func (w *World) SetImage(image string) {
	w.Edit(func(ro *v1alpha1.Rollout) { ro.Spec.Template.Spec.Containers[0].Image = image })
}

// Scale sets spec.replicas, as an autoscaler does.
func (w *World) Scale(n int32) { w.Edit(func(ro *v1alpha1.Rollout) { ro.Spec.Replicas = &n }) }

// Pause sets spec.paused.
func (w *World) Pause(paused bool) { w.Edit(func(ro *v1alpha1.Rollout) { ro.Spec.Paused = paused }) }

// Abort is the command of that name.
func (w *World) Abort() { w.EditStatus(func(s *v1alpha1.RolloutStatus) { s.Abort = true }) }

// Retry is the command of that name.
func (w *World) Retry() { w.EditStatus(func(s *v1alpha1.RolloutStatus) { s.Abort = false }) }

// Promote is the command of that name: it ends the pause, or skips the step that is being done, and lifts spec.paused.
func (w *World) Promote() {
	s := w.Rollout().Status
	switch canary := w.Rollout().Spec.Strategy.Canary; {
	case len(s.PauseConditions) > 0:
		w.EditStatus(func(s *v1alpha1.RolloutStatus) { s.PauseConditions = nil })
	case s.CurrentStepIndex != nil && canary != nil && int(*s.CurrentStepIndex) < len(canary.Steps):
		w.EditStatus(func(s *v1alpha1.RolloutStatus) { *s.CurrentStepIndex++ })
	}
	if w.Rollout().Spec.Paused {
		w.Pause(false)
	}
}

// PromoteFull is promote --full.
func (w *World) PromoteFull() {
	s := w.Rollout().Status
	if s.CurrentPodHash == s.StableRS {
		return
	}
	w.EditStatus(func(s *v1alpha1.RolloutStatus) { s.PromoteFull = true })
	if w.Rollout().Spec.Paused {
		w.Pause(false)
	}
}

// DeleteReplicaSet deletes an image's ReplicaSet and its pods by hand.
func (w *World) DeleteReplicaSet(image string) {
	for _, s := range slices.Clone(w.sets) {
		if imageOf(s) != image {
			continue
		}
		for _, p := range s.pods {
			w.lose(s, p)
		}
		w.objects.replicaSets.delete(w, s.ReplicaSet)
	}
}

// Refuse has the API server refuse new ReplicaSets with a message; an empty one ends that.
func (w *World) Refuse(message string) { w.objects.replicaSets.refused = message }

// RefuseLabels has the API server refuse changes of pods with a message; an empty one ends that.
func (w *World) RefuseLabels(message string) { w.labelsRefused = message }

// Take gives a name to someone else's ReplicaSet.
func (w *World) Take(name string) { w.objects.replicaSets.take(name) }

// Relabel changes an image's ReplicaSet by hand, beyond what people should do.
func (w *World) Relabel(image string, change func(*appsv1.ReplicaSet)) {
	for _, s := range slices.Clone(w.sets) {
		if imageOf(s) == image {
			rs := s.DeepCopy()
			change(rs)
			w.objects.replicaSets.replace(w, rs, false)
		}
	}
}

// NameFor is the name that the ReplicaSet of an image would have.
func (w *World) NameFor(image string) string {
	template := w.Rollout().Spec.Template.DeepCopy()
	template.Spec.Containers[0].Image = image
	return w.Rollout().Name + "-" + spec.PodHash(template, w.Rollout().Status.CollisionCount)
}
