package plan

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// service returns a Service as it will be after this pass, nil if there is none of that name.
func (p *pass) service(name string) *corev1.Service {
	if e, ok := p.serviceEdits[name]; ok {
		return e.To
	}
	i := slices.IndexFunc(p.Services, func(s *corev1.Service) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return p.Services[i]
}

// selects is the hash of the version that the Service sends to; empty if it does not tell versions apart, or is not there.
func (p *pass) selects(name string) string {
	if s := p.service(name); s != nil {
		return s.Spec.Selector[v1alpha1.PodTemplateHashLabel]
	}
	return ""
}

// checkServices finds what is wrong with the Services that the spec names. They are other people's objects, and may be mended
// at any time: until then nothing is routed, and what runs goes on.
func (p *pass) checkServices() {
	for _, ref := range spec.Services(p.Rollout) {
		if p.service(ref.Name) == nil {
			object := fmt.Sprintf("service %q", ref.Name)
			p.problems = append(p.problems, spec.Problem{Field: ref.Field, Missing: object, Text: object + " not found: create it, or name one that exists"})
		} else if text := p.serviceProblem(ref.Name); text != "" {
			p.problems = append(p.problems, spec.Problem{Field: ref.Field, Text: text})
		}
	}
}

func (p *pass) serviceProblem(name string) string {
	s := p.service(name)
	if text := spec.ServiceType(s); text != "" {
		return text
	}
	if owner := s.Annotations[v1alpha1.ManagedByAnnotation]; owner != "" && owner != p.Rollout.Name {
		return fmt.Sprintf("Service %q is managed by another Rollout, %q: give each Rollout a Service of its own", name, owner)
	}
	wants := labels.Set{}
	for key, value := range s.Spec.Selector {
		if key != v1alpha1.PodTemplateHashLabel {
			wants[key] = value
		}
	}
	if !wants.AsSelector().Matches(labels.Set(p.spec.Template.Labels)) {
		return fmt.Sprintf("Service %q has unmatch label in its selector, %q: the template's labels are %q", name, wants, labels.Set(p.spec.Template.Labels))
	}
	return ""
}

// point makes a Service select one version, and marks it as this Rollout's.
func (p *pass) point(name, hash, reason string) {
	from := p.selects(name)
	owned := p.service(name).Annotations[v1alpha1.ManagedByAnnotation] == p.Rollout.Name
	if from == hash && owned {
		return
	}
	s := p.editService(name, reason)
	setKey(&s.Spec.Selector, v1alpha1.PodTemplateHashLabel, hash)
	setKey(&s.Annotations, v1alpha1.ManagedByAnnotation, p.Rollout.Name)
	if from != hash {
		p.Event(v1alpha1.EventSwitchService, "Switched selector for service '%s' from '%s' to '%s'", name, from, hash)
		p.Note(change.TopicRoute, fmt.Sprintf("point service %s to %s", name, hash), reason)
	}
}

func (p *pass) editService(name, reason string) *corev1.Service {
	if e, ok := p.serviceEdits[name]; ok {
		return e.To
	}
	from := p.service(name)
	e := change.UpdateService{From: from, To: from.DeepCopy(), Reason: reason}
	p.serviceEdits[name] = e
	return e.To
}

// unreferenced reports whether none of the Services sends anything to the version any more. Pods that have served are gone for
// good once they are gone, so this is asked of the API server itself and not of a cache, which may show last minute's Service.
func (p *pass) unreferenced(hash string, services []string) bool {
	if p.referenced(hash, services) {
		return false
	}
	if !p.ServicesLive {
		p.Need(change.NeedLiveServices{})
		return false
	}
	return true
}

// referenced reports whether one of the Services sent to the version before this pass, or will after it, as far as is known. A
// Service that tells no versions apart, as one does that somebody made anew, sends to all of them.
func (p *pass) referenced(hash string, services []string) bool {
	return slices.ContainsFunc(services, func(name string) bool {
		if p.service(name) == nil {
			return false
		}
		now, before := p.selects(name), p.observedSelects(name)
		return now == hash || now == "" || before == hash || before == ""
	})
}

// observedSelects is what the Service selected before this pass: only what it has stopped sending to may lose pods.
func (p *pass) observedSelects(name string) string {
	for _, s := range p.Services {
		if s.Name == name {
			return s.Spec.Selector[v1alpha1.PodTemplateHashLabel]
		}
	}
	return ""
}

func setKey(m *map[string]string, key, value string) {
	if *m == nil {
		*m = map[string]string{}
	}
	(*m)[key] = value
}

// withoutNew is why what runs is scaled although there is an update to begin.
const withoutNew = "the new version cannot be created"

// pointBack has a Service that somebody's edit sends to no version that there is select the stable one.
func (p *pass) pointBack(name string) {
	if hash := p.selects(name); hash != "" && p.find(hash) == nil {
		p.pointAvailable(name, p.stable, "it selects no version that there is")
	}
}

// pointAvailable points a Service at a version that has pods: at all of them, where it selected the pods of every version so far. While
// it has none, a Service whose version is neither the new nor the stable one is lent to another.
func (p *pass) pointAvailable(name string, v *version, why string) {
	if name == "" {
		return
	}
	if v != nil && p.selects(name) == v.hash {
		p.point(name, v.hash, why)
		return
	}
	needed := min(1, p.spec.Replicas) // with no pods wanted there is nobody to wait for
	if v != nil && !p.owned(name) {
		needed = max(needed, v.desired())
	}
	if v == nil {
		needed = 1
	}
	if have := v.fleet().serving(); have < needed {
		missing := fmt.Sprintf("%d of %d pods available", have, needed)
		if v == nil {
			missing = p.whyGone()
		}
		p.Note(change.TopicWait, fmt.Sprintf("service %s", name), missing)
		if lent := p.standIn(name); lent != nil {
			p.point(name, lent.hash, "the version that it is for has no pods")
		}
		return
	}
	p.point(name, v.hash, why)
}

// standIn is the version that a Service is lent to whose own has no pods, nil where it stays as it is: at a version that plays a part, or at
// the pods of all. It is the stable one, or any that has pods where that is gone and nobody answers.
func (p *pass) standIn(name string) *version {
	last := p.find(p.selects(name))
	switch {
	case p.selects(name) == "", last != nil && (last == p.new || last == p.stable):
		return nil
	case p.stable.fleet().serving() > 0:
		return p.stable
	case last.fleet().serving() == 0 && p.remaining().certain() > 0:
		return p.remaining()
	}
	return nil
}
