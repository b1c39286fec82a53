package sim

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// CreateService adds a Service that selects all pods of the Rollout.
func (w *World) CreateService(name string) {
	w.PutService(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: Home}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}},
	})
}

// PutService adds a Service as a user wrote it.
func (w *World) PutService(s *corev1.Service) { w.objects.services.create(w, s.DeepCopy()) }

// DeleteService deletes a Service by hand.
func (w *World) DeleteService(name string) {
	w.objects.services.remove(w, func(s Object) bool { return s.GetName() == name })
}

// EditService changes a Service by hand.
func (w *World) EditService(name string, change func(*corev1.Service)) {
	if s := w.Service(name).DeepCopy(); s != nil {
		change(s)
		w.objects.services.replace(w, s, false)
	}
}

// Services are the Services as they are now, not to be modified.
func (w *World) Services() []*corev1.Service { return w.objects.services.now }

// Service is a Service as it is now, not to be modified; nil if there is none of that name.
func (w *World) Service(name string) *corev1.Service { return w.objects.services.named(name) }

// Selects is the hash that a Service selects.
func (w *World) Selects(service string) string {
	if s := w.Service(service); s != nil {
		return s.Spec.Selector[v1alpha1.PodTemplateHashLabel]
	}
	return ""
}

// Behind is how many available pods a Service sends to; none where it is not there.
func (w *World) Behind(service string) int {
	s := w.Service(service)
	if s == nil {
		return 0
	}
	selector, n := labels.SelectorFromSet(s.Spec.Selector), 0
	for _, set := range w.sets {
		if !selector.Matches(labels.Set(set.Spec.Template.Labels)) {
			continue
		}
		for _, p := range set.pods {
			if p.available(w.now, set.minReady()) {
				n++
			}
		}
	}
	return n
}
