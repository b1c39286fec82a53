package world

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// AnsweredBeside reports whether another version has pods that answer, and stay.
func (w *World) AnsweredBeside(v *Version) bool {
	return slices.ContainsFunc(w.All(), func(other *Version) bool { return other != v && other.ConfirmedAvailable() > 0 })
}

// OnlyVersion reports whether no other version has pods, or will have any before this one's are gone.
func (w *World) OnlyVersion(v *Version) bool {
	return !slices.ContainsFunc(w.All(), func(other *Version) bool { return other != v && other.Desired() > 0 })
}

// ServiceNames are the Services of a canary that there are.
func ServiceNames(c spec.Canary) []string {
	var names []string
	for _, s := range []spec.Reference{c.CanaryService, c.StableService} {
		if s.Name != "" {
			names = append(names, s.Name)
		}
	}
	return names
}

// UnnamedServices are marked as this Rollout's, and none of those that it names.
func (w *World) UnnamedServices() []*corev1.Service {
	named := spec.Services(w.Rollout)
	var unnamed []*corev1.Service
	for _, s := range w.Services {
		is := func(ref spec.Reference) bool { return ref.Name == s.Name }
		if s.Annotations[v1alpha1.ManagedByAnnotation] == w.Rollout.Name && !slices.ContainsFunc(named, is) {
			unnamed = append(unnamed, s)
		}
	}
	slices.SortFunc(unnamed, func(a, b *corev1.Service) int { return cmp.Compare(a.Name, b.Name) })
	return unnamed
}

// WithUnnamed are Services that may carry requests: those, and what is still to be given back.
func (w *World) WithUnnamed(services ...string) []string {
	for _, s := range w.UnnamedServices() {
		services = append(services, s.Name)
	}
	return services
}

// ObservedSelects is what the Service selected before this pass: only what it has stopped sending to may lose pods.
func (w *World) ObservedSelects(name string) string {
	for _, s := range w.Services {
		if s.Name == name {
			return s.Spec.Selector[v1alpha1.PodTemplateHashLabel]
		}
	}
	return ""
}

// SetKey sets a key of a map, which it makes where there is none.
func SetKey(m *map[string]string, key, value string) {
	if *m == nil {
		*m = map[string]string{}
	}
	(*m)[key] = value
}
