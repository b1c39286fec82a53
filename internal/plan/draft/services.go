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
	s := d.service(name)
	return s != nil && s.Annotations[v1alpha1.ManagedByAnnotation] == d.world.Rollout.Name
}

// service returns a Service as it will be after this pass, nil if there is none of that name.
func (d *Draft) service(name string) *corev1.Service {
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
	if s := d.service(name); s != nil {
		return s.Spec.Selector[v1alpha1.PodTemplateHashLabel]
	}
	return ""
}

// CheckServices finds what is wrong with the Services that the spec names. They are other people's objects, and may be mended
// at any time: until then nothing is routed, and what runs goes on.
func (d *Draft) CheckServices() {
	for _, ref := range spec.Services(d.world.Rollout) {
		if d.service(ref.Name) == nil {
			object := fmt.Sprintf("service %q", ref.Name)
			d.update.Problems = append(d.update.Problems, spec.Problem{Field: ref.Field, Missing: object, Text: object + " not found: create it, or name one that exists"})
		} else if text := d.serviceProblem(ref.Name); text != "" {
			d.update.Problems = append(d.update.Problems, spec.Problem{Field: ref.Field, Text: text})
		}
	}
}

func (d *Draft) serviceProblem(name string) string {
	s := d.service(name)
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
	owned := d.service(name).Annotations[v1alpha1.ManagedByAnnotation] == d.world.Rollout.Name
	if from == hash && owned {
		return
	}
	s := d.editService(name, reason)
	world.SetKey(&s.Spec.Selector, v1alpha1.PodTemplateHashLabel, hash)
	world.SetKey(&s.Annotations, v1alpha1.ManagedByAnnotation, d.world.Rollout.Name)
	if from != hash {
		d.journal.Event(v1alpha1.EventSwitchService, "Switched selector for service '%s' from '%s' to '%s'", name, from, hash)
		d.journal.Note(change.TopicRoute, fmt.Sprintf("point service %s to %s", name, hash), reason)
	}
}

func (d *Draft) editService(name, reason string) *corev1.Service {
	if e, ok := d.serviceEdits[name]; ok {
		return e.To
	}
	from := d.service(name)
	e := change.UpdateService{From: from, To: from.DeepCopy(), Reason: reason}
	d.serviceEdits[name] = e
	return e.To
}

// Unreferenced reports whether none of the Services sends anything to the version any more. Pods that have served are gone for
// good once they are gone, so this is asked of the API server itself and not of a cache, which may show last minute's Service.
func (d *Draft) Unreferenced(hash string, services []string) bool {
	if d.Referenced(hash, services) {
		return false
	}
	if !d.world.ServicesLive {
		d.journal.Need(change.NeedLiveServices{})
		return false
	}
	return true
}

// Referenced reports whether one of the Services sent to the version before this pass, or will after it, as far as is known. A
// Service that tells no versions apart, as one does that somebody made anew, sends to all of them.
func (d *Draft) Referenced(hash string, services []string) bool {
	return slices.ContainsFunc(services, func(name string) bool {
		if d.service(name) == nil {
			return false
		}
		now, before := d.Selects(name), d.world.ObservedSelects(name)
		return now == hash || now == "" || before == hash || before == ""
	})
}

// WithoutNew is why what runs is scaled although there is an update to begin.
const WithoutNew = "the new version cannot be created"

// PointBack has a Service that somebody's edit sends to no version that there is select the stable one.
func (d *Draft) PointBack(name string) {
	if hash := d.Selects(name); hash != "" && d.world.Find(hash) == nil {
		d.PointAvailable(name, d.world.Stable, "it selects no version that there is")
	}
}

// PointAvailable points a Service at a version that has pods: at all of them, where it selected the pods of every version so far. While
// it has none, a Service whose version is neither the new nor the stable one is lent to another.
func (d *Draft) PointAvailable(name string, v *world.Version, why string) {
	if name == "" {
		return
	}
	if v != nil && d.Selects(name) == v.Hash {
		d.Point(name, v.Hash, why)
		return
	}
	needed := min(1, d.world.Spec.Replicas) // with no pods wanted there is nobody to wait for
	if v != nil && !d.Owned(name) {
		needed = max(needed, v.Desired())
	}
	if v == nil {
		needed = 1
	}
	if have := v.Fleet().Serving(); have < needed {
		missing := fmt.Sprintf("%d of %d pods available", have, needed)
		if v == nil {
			missing = d.update.WhyGone()
		}
		d.journal.Note(change.TopicWait, fmt.Sprintf("service %s", name), missing)
		if lent := d.standIn(name); lent != nil {
			d.Point(name, lent.Hash, "the version that it is for has no pods")
		}
		return
	}
	d.Point(name, v.Hash, why)
}

// standIn is the version that a Service is lent to whose own has no pods, nil where it stays as it is: at a version that plays a part, or at
// the pods of all. It is the stable one, or any that has pods where that is gone and nobody answers.
func (d *Draft) standIn(name string) *world.Version {
	last := d.world.Find(d.Selects(name))
	switch {
	case d.Selects(name) == "", last != nil && (last == d.world.New || last == d.world.Stable):
		return nil
	case d.world.Stable.Fleet().Serving() > 0:
		return d.world.Stable
	case last.Fleet().Serving() == 0 && d.world.Remaining().Certain() > 0:
		return d.world.Remaining()
	}
	return nil
}
