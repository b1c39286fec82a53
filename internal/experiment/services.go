package experiment

import (
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
)

// growService makes sure that the template has the Service it asks for, and returns what is waited for if that has to wait. A Service
// that another Experiment made under the name goes with that one's pods, so it is waited for; anybody else's is never touched.
func (p *pass) growService(t *template) (missing string) {
	if t.Service == "" {
		t.is.ServiceName = ""
		return ""
	}
	have := p.service(t.Service)
	failure, refused := p.failureOf(Service, t.Service)
	switch {
	case have != nil && p.owns(have) && have.DeletionTimestamp == nil:
		t.is.ServiceName = have.Name
		return ""
	case have != nil && Leaving(have), failure.Leaving:
		return p.awaitLeaving(t, Service, t.Service)
	case have != nil, failure.Taken:
		p.finish(t, v1alpha1.TemplateStatusError, fmt.Sprintf("Service %q is there already and is not of this Experiment: delete it, or give %s.service another name", t.Service, t.Field))
		return ""
	case refused:
		p.finish(t, v1alpha1.TemplateStatusError, fmt.Sprintf("Service %q was refused: %s", t.Service, failure.Message))
		return ""
	}
	p.plan.Route = append(p.plan.Route, change.CreateService{Service: t.newService(p.Experiment)})
	p.journal.Note(change.TopicRoute, "create service "+t.Service, t.Field+".service")
	t.is.ServiceName = t.Service
	return ""
}

func (t *template) newService(ex *v1alpha1.Experiment) *corev1.Service {
	hash := t.PodHash
	if t.set != nil { // which another controller may have named
		hash = t.set.Labels[v1alpha1.PodTemplateHashLabel]
	}
	selector := map[string]string{}
	maps.Copy(selector, t.Selector.MatchLabels)
	selector[v1alpha1.PodTemplateHashLabel] = hash
	meta := t.childMeta(ex, map[string]string{})
	meta.Name = t.Service
	return &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Selector: selector, Ports: t.Ports}}
}

// dropServices deletes Services whose pods are gone, or on their way.
func (p *pass) dropServices(sets map[string]*appsv1.ReplicaSet) {
	for _, s := range p.Services {
		if !p.owns(s) || s.DeletionTimestamp != nil {
			continue
		}
		set, ours := sets[s.Annotations[v1alpha1.ExperimentTemplateNameAnnotation]]
		if !ours || set != nil && (desired(set) > 0 || !counted(set) || set.Status.AvailableReplicas > 0) {
			continue
		}
		p.plan.Shrink = append(p.plan.Shrink, change.DeleteService{Service: s})
		p.journal.Note(change.TopicRoute, "delete service "+s.Name, "it has no pods any more")
	}
}
