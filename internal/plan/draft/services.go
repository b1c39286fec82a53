package draft

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// Owned reports whether a Service is marked as this Rollout's.
func (d *Draft) Owned(name string) bool {
	s := d.Service(name)
	return s != nil && s.Annotations[v1alpha1.ManagedByAnnotation] == d.world.Rollout.Name
}

// Service returns a Service as it will be after this pass, nil if there is none of that name.
func (d *Draft) Service(name string) *corev1.Service {
	if e, ok := d.serviceEdits[name]; ok {
		return e.To
	}
	i := slices.IndexFunc(d.world.Services, func(s *corev1.Service) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return d.world.Services[i]
}

// Selects is the hash of the version that the Service sends to; empty if it does not tell versions apart, or is not there.
func (d *Draft) Selects(name string) string {
	if s := d.Service(name); s != nil {
		return s.Spec.Selector[v1alpha1.PodTemplateHashLabel]
	}
	return ""
}

// CheckServices finds what is wrong with the Services that the spec names. They belong to users, who may fix them at any time. Until then
// nothing is routed, and running pods keep running.
func (d *Draft) CheckServices() {
	for _, ref := range spec.Services(d.world.Rollout) {
		if d.Service(ref.Name) == nil {
			object := fmt.Sprintf("service %q", ref.Name)
			d.update.Problems = append(d.update.Problems, spec.Problem{Field: ref.Field, Missing: object, Text: object + " not found: create it, or name one that exists"})
		} else if text := d.serviceProblem(ref.Name); text != "" {
			d.update.Problems = append(d.update.Problems, spec.Problem{Field: ref.Field, Text: text})
		}
	}
}

func (d *Draft) serviceProblem(name string) string {
	s := d.Service(name)
	if text := spec.ServiceType(s); text != "" {
		return text
	}
	if owner := s.Annotations[v1alpha1.ManagedByAnnotation]; owner != "" && owner != d.world.Rollout.Name {
		return fmt.Sprintf("Service %q is managed by another Rollout, %q: give each Rollout a Service of its own", name, owner)
	}
	wants := labels.Set{}
	for key, value := range s.Spec.Selector {
		if key != v1alpha1.PodTemplateHashLabel {
			wants[key] = value
		}
	}
	if !wants.AsSelector().Matches(labels.Set(d.world.Spec.Template.Labels)) {
		return fmt.Sprintf("Service %q has unmatch label in its selector, %q: the template's labels are %q", name, wants, labels.Set(d.world.Spec.Template.Labels))
	}
	return ""
}

// Point makes a Service select one version, and marks it as this Rollout's.
func (d *Draft) Point(name, hash, reason string) {
	from := d.Selects(name)
	owned := d.Service(name).Annotations[v1alpha1.ManagedByAnnotation] == d.world.Rollout.Name
	if from == hash && owned {
		return
	}
	s := d.EditService(name)
	world.SetKey(&s.Spec.Selector, v1alpha1.PodTemplateHashLabel, hash)
	world.SetKey(&s.Annotations, v1alpha1.ManagedByAnnotation, d.world.Rollout.Name)
	if from != hash {
		d.journal.Event(v1alpha1.EventSwitchService, "Switched selector for service '%s' from '%s' to '%s'", name, from, hash)
		d.journal.Note(change.TopicRoute, fmt.Sprintf("point service %s to %s", name, hash), reason)
	}
}

// EditService returns the Service to change in place of the one that was observed, which may be shared with a cache.
func (d *Draft) EditService(name string) *corev1.Service {
	if e, ok := d.serviceEdits[name]; ok {
		return e.To
	}
	from := d.Service(name)
	e := change.UpdateService{From: from, To: from.DeepCopy()}
	d.serviceEdits[name] = e
	return e.To
}
