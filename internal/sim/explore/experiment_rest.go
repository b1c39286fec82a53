package explore

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/plan/move"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// rest checks what must be so when nothing happens by itself any more, but for measurements.
func (r *experimentRules) rest() {
	w := r.lab.world
	if r.lab.fault != nil || !w.DueBesidesMeasuring().IsZero() {
		return
	}
	r.bent = false
	r.began = map[string]types.UID{}
	r.measured.rest()
	r.bulletin.rest()
	for _, ex := range w.Experiments() {
		r.atRest(ex)
	}
	if ro := w.Rollout(); ro != nil && ro.Status.Phase == v1alpha1.RolloutPhaseProgressing && !r.waits() {
		r.fail("wake", "the rollout waits for nobody: %s", r.lab.summary())
	}
	for service, weight := range r.shares() {
		if weight > 0 && service != canaryService && service != stableService && !r.runs(service) {
			r.fail(move.Weight.Name, "%d %% of the traffic still go to %s: %s", weight, service, r.lab.summary())
		}
	}
}

// atRest checks an Experiment.
func (r *experimentRules) atRest(ex *v1alpha1.Experiment) {
	w := r.lab.world
	if !analysis.Ended(ex.Status.Phase) {
		if !r.awaits(ex) {
			r.fail("wake", "%s waits for nobody: %s", ex.Name, r.lab.summary())
		}
		return
	}
	for _, v := range w.Versions() {
		if v.Experiment == ex.Name && (v.Wanted > 0 || v.Pods > 0) {
			r.fail("end", "%s has ended and %s still has %d pods", ex.Name, v.Template, v.Pods)
		}
	}
	for _, t := range ex.Status.TemplateStatuses {
		if s := w.Service(t.ServiceName); t.ServiceName != "" && s != nil && s.Annotations[v1alpha1.ExperimentNameAnnotation] == ex.Name {
			r.fail("end", "%s has ended and service %s is still there", ex.Name, s.Name)
		}
	}
}

// awaits reports whether an Experiment waits for a person, or for measurements.
func (r *experimentRules) awaits(ex *v1alpha1.Experiment) bool {
	s, problems := spec.ResolveExperiment(ex)
	if len(problems) > 0 || ex.Spec.Terminate {
		return false
	}
	if !s.Timed || strings.HasPrefix(ex.Status.Message, v1alpha1.ReasonInvalidSpec) {
		return true
	}
	return slices.ContainsFunc(r.lab.world.Runs(), func(run *v1alpha1.AnalysisRun) bool {
		return strings.HasPrefix(run.Name, ex.Name+"-") && !analysis.Ended(run.Status.Phase)
	})
}

// waits reports whether the rollout waits for an Experiment or an analysis that goes on.
func (r *experimentRules) waits() bool {
	w := r.lab.world
	name := w.Rollout().Status.Canary.CurrentExperiment
	if ex := w.Experiment(name); ex != nil && !analysis.Ended(ex.Status.Phase) {
		return true
	}
	return slices.ContainsFunc(w.Runs(), func(run *v1alpha1.AnalysisRun) bool { return !analysis.Ended(run.Status.Phase) })
}

// runs reports whether an Experiment goes on that a Service is of.
func (r *experimentRules) runs(service string) bool {
	return slices.ContainsFunc(r.lab.world.Experiments(), func(ex *v1alpha1.Experiment) bool {
		return !analysis.Ended(ex.Status.Phase) && strings.HasPrefix(service, ex.Name+"-")
	})
}

// end checks how everything ends.
func (r *experimentRules) end() {
	for _, run := range r.lab.world.Runs() {
		if !analysis.Ended(run.Status.Phase) {
			r.fail("end", "%s still runs: %s", run.Name, r.lab.summary())
		}
	}
	ro := r.lab.world.Rollout()
	if ro == nil {
		return
	}
	if ro.Status.StableRS != ro.Status.CurrentPodHash {
		r.fail("end", "%s", r.lab.summary())
	}
	for service, weight := range r.shares() {
		if service != canaryService && service != stableService {
			r.fail(move.Weight.Name, "the route still names %s with %d %%", service, weight)
		}
	}
}
