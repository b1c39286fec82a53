package routed

import (
	"fmt"
	"slices"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// experimentDestinations are the templates of the current step's Experiment that are to get traffic: those with a weight, while the
// Experiment runs, and they have pods.
func (r *Split) experimentDestinations() []traffic.Destination {
	if r.update.State() != progress.Updating || r.update.At() >= r.world.StepCount() || !r.judge.OfStep(r.update.Is.Canary.CurrentExperiment) {
		return nil
	}
	step, ok := r.canary.Steps[r.update.At()].(spec.RunExperiment)
	ex := r.world.Experiment(r.update.Is.Canary.CurrentExperiment)
	if !ok || ex == nil || ex.Status.Phase != v1alpha1.AnalysisPhaseRunning || ex.Spec.Terminate {
		return nil
	}
	var out []traffic.Destination
	for i := range step.Templates {
		if d, ok := r.destination(ex, &step.Templates[i]); ok {
			out = append(out, d)
		}
	}
	return out
}

// destination is what a template is to get, if it has a weight, a Service and pods.
func (r *Split) destination(ex *v1alpha1.Experiment, t *v1alpha1.RolloutExperimentTemplate) (traffic.Destination, bool) {
	if t.Weight == nil || *t.Weight == 0 {
		return traffic.Destination{}, false
	}
	set, service := r.world.ExperimentSet(ex, t.Name), r.world.ExperimentService(ex, t)
	if set == nil || service == nil || set.Status.AvailableReplicas == 0 {
		return traffic.Destination{}, false
	}
	return traffic.Destination{Service: service.Name, Hash: set.Labels[v1alpha1.PodTemplateHashLabel], Weight: *t.Weight}, true
}

// named are the destinations that the status names already. An Experiment that ends keeps the pods that its Rollout's status names, and what
// routers do is recorded after that, if the process lives: so the status names a destination, without a weight, before any router sends to it.
func (r *Split) named(destinations []traffic.Destination) []traffic.Destination {
	var named []traffic.Destination
	for _, d := range destinations {
		if w := r.update.Was.Canary.Weights; w != nil && slices.ContainsFunc(w.Additional, func(have v1alpha1.WeightDestination) bool {
			return have.ServiceName == d.Service && have.PodTemplateHash == d.Hash
		}) {
			named = append(named, d)
			continue
		}
		r.journal.Note(change.TopicWait, "traffic for service "+d.Service, "the status names it first, so that its pods stay")
	}
	return named
}

// recordedAdditional are the destinations in the status that are neither of the two versions, and have a weight.
func (r *Split) recordedAdditional() []traffic.Destination {
	w := r.update.Was.Canary.Weights
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
func (r *Split) lookAtExperiment() {
	name, before := r.update.Is.Canary.CurrentExperiment, r.recordedAdditional()
	for _, d := range r.Next.Additional {
		sent := slices.ContainsFunc(before, func(was traffic.Destination) bool { return was.Service == d.Service && was.Hash == d.Hash })
		if !sent && r.world.LiveExperiment != name {
			r.journal.Need(change.NeedLiveExperiment{Name: name})
		}
	}
}

// tellAdditional adds an event for each destination that was added or removed.
func (r *Split) tellAdditional() {
	before := r.recordedAdditional()
	for _, d := range r.Next.Additional {
		if !slices.Contains(before, d) {
			r.journal.Event(v1alpha1.EventTrafficWeightUpdated, "Traffic weight of experiment service '%s' updated to %d", d.Service, d.Weight)
			r.journal.Note(change.TopicRoute, fmt.Sprintf("send %s to service %s", r.want.PortionText(d.Weight), d.Service), "the experiment runs")
		}
	}
	for _, d := range before {
		if !slices.ContainsFunc(r.Next.Additional, func(n traffic.Destination) bool { return n.Service == d.Service }) {
			r.journal.Event(v1alpha1.EventTrafficWeightUpdated, "Traffic weight of experiment service '%s' updated to 0", d.Service)
			r.journal.Note(change.TopicRoute, "send nothing to service "+d.Service+" any more", "the experiment is over, or the template has no pods")
		}
	}
}
