package sim

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// EndpointSlices are those of the Services at home that select a version. A pod is listed [Options.EndpointLag] after it is ready.
func (w *World) EndpointSlices() []*discoveryv1.EndpointSlice {
	var all []*discoveryv1.EndpointSlice
	for _, service := range w.Services() {
		slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
			Namespace: service.Namespace, Name: service.Name + "-1", Labels: map[string]string{discoveryv1.LabelServiceName: service.Name},
		}}
		for _, s := range w.sets {
			if hash := s.Labels[v1alpha1.PodTemplateHashLabel]; hash == "" || hash != service.Spec.Selector[v1alpha1.PodTemplateHashLabel] {
				continue
			}
			for _, p := range s.pods {
				if p.available(w.now, w.EndpointLag) {
					slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: p.name}})
				}
			}
		}
		all = append(all, slice)
	}
	return all
}

// Unlisted reports whether a version has available pods, and EndpointSlices list none of them yet.
func (w *World) Unlisted(hash string) bool {
	available := false
	for _, s := range w.sets {
		if s.Labels[v1alpha1.PodTemplateHashLabel] != hash {
			continue
		}
		for _, p := range s.pods {
			if p.available(w.now, max(s.minReady(), w.EndpointLag)) {
				return false
			}
			available = available || p.available(w.now, s.minReady())
		}
	}
	return available && w.EndpointLag > time.Duration(0)
}
