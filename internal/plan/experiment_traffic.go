package plan

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// experimentDestinations are the templates of the current step's Experiment that are to get traffic: those with a weight, while the
// Experiment runs, and they have pods.
func (r *routing) experimentDestinations() []traffic.Destination {
	if r.promoted() || r.is.Abort || r.is.PromoteFull || r.at() >= r.stepCount() || !r.ofStep(r.is.Canary.CurrentExperiment) {
		return nil
	}
	step, ok := r.canary.Steps[r.at()].(spec.RunExperiment)
	ex := r.experiment(r.is.Canary.CurrentExperiment)
	if !ok || ex == nil || ex.Status.Phase != v1alpha1.AnalysisPhaseRunning || ex.Spec.Terminate {
		return nil
	}
	var out []traffic.Destination
	for i := range step.Templates {
		t := &step.Templates[i]
		if t.Weight == nil || *t.Weight == 0 {
			continue
		}
		set := r.experimentSet(ex, t.Name)
		service := r.experimentService(ex, t)
		if set == nil || service == nil || set.Status.AvailableReplicas == 0 {
			continue
		}
		out = append(out, traffic.Destination{Service: service.Name, Hash: set.Labels[v1alpha1.PodTemplateHashLabel], Weight: *t.Weight})
	}
	return out
}

// experimentSet is the ReplicaSet that an Experiment has for a template, nil if there is none. The Experiment's status tells of it too, which
// who may write Experiments can write.
func (p *pass) experimentSet(ex *v1alpha1.Experiment, template string) *appsv1.ReplicaSet {
	return analysis.FirstNamed(p.ExperimentSets, func(set *appsv1.ReplicaSet) bool {
		return metav1.IsControlledBy(set, ex) && set.DeletionTimestamp == nil && set.Annotations[v1alpha1.ExperimentTemplateNameAnnotation] == template
	})
}

// experimentService is the Service by which a template's pods get traffic, nil if there is none: the one that the step's spec names, and that the
// Experiment controls.
func (p *pass) experimentService(ex *v1alpha1.Experiment, t *v1alpha1.RolloutExperimentTemplate) *corev1.Service {
	name := spec.ExperimentChildName(ex.Name, t.Name)
	if t.Service != nil && t.Service.Name != "" {
		name = t.Service.Name
	}
	i := slices.IndexFunc(p.ExperimentServices, func(s *corev1.Service) bool {
		return s.Name == name && metav1.IsControlledBy(s, ex) && s.DeletionTimestamp == nil
	})
	if i < 0 {
		return nil
	}
	return p.ExperimentServices[i]
}

// named are the destinations that the status names already. An Experiment that ends keeps the pods that its Rollout's status names, and what
// routers do is recorded behind it, if the process lives: so the status names a destination, without a weight, before they are told of it.
func (r *routing) named(destinations []traffic.Destination) []traffic.Destination {
	var named []traffic.Destination
	for _, d := range destinations {
		if w := r.was.Canary.Weights; w != nil && slices.ContainsFunc(w.Additional, func(have v1alpha1.WeightDestination) bool {
			return have.ServiceName == d.Service && have.PodTemplateHash == d.Hash
		}) {
			named = append(named, d)
			continue
		}
		r.Note(change.TopicWait, "traffic for service "+d.Service, "the status names it first, so that its pods stay")
	}
	return named
}

// recordedAdditional are the destinations in the status that are neither of the two versions, and have a weight.
func (r *routing) recordedAdditional() []traffic.Destination {
	w := r.was.Canary.Weights
	if w == nil {
		return nil
	}
	var out []traffic.Destination
	for _, d := range w.Additional {
		if d.Weight == 0 {
			continue // named, no more
		}
		out = append(out, traffic.Destination{Service: d.ServiceName, Hash: d.PodTemplateHash, Weight: d.Weight})
	}
	return out
}

// lookAtExperiment asks for the Experiment itself before traffic is sent to its pods. Behind the status that names them it keeps them; before
// that it may have ended, and a cache not show it yet.
func (r *routing) lookAtExperiment() {
	name, before := r.is.Canary.CurrentExperiment, r.recordedAdditional()
	for _, d := range r.next.Additional {
		sent := slices.ContainsFunc(before, func(was traffic.Destination) bool { return was.Service == d.Service && was.Hash == d.Hash })
		if !sent && r.LiveExperiment != name {
			r.Need(change.NeedLiveExperiment{Name: name})
		}
	}
}

// tellAdditional tells of destinations that come and go.
func (r *routing) tellAdditional() {
	before := r.recordedAdditional()
	for _, d := range r.next.Additional {
		if !slices.Contains(before, d) {
			r.Event(v1alpha1.EventTrafficWeightUpdated, "Traffic weight of experiment service '%s' updated to %d", d.Service, d.Weight)
			r.Note(change.TopicRoute, fmt.Sprintf("send %s to service %s", r.portionText(d.Weight), d.Service), "the experiment runs")
		}
	}
	for _, d := range before {
		if !slices.ContainsFunc(r.next.Additional, func(n traffic.Destination) bool { return n.Service == d.Service }) {
			r.Event(v1alpha1.EventTrafficWeightUpdated, "Traffic weight of experiment service '%s' updated to 0", d.Service)
			r.Note(change.TopicRoute, "send nothing to service "+d.Service+" any more", "the experiment is over, or the template has no pods")
		}
	}
}
