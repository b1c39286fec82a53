package experiment

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// Plan is the desired state, grouped in the order in which it is safe to apply. Stopping after any write and planning again
// leads to the same result.
type Plan struct {
	// Grow creates ReplicaSets and scales them up.
	Grow []change.Change
	// Route creates Services for the templates' pods.
	Route []change.Change
	// Judge starts and ends AnalysisRuns.
	Judge []change.Change
	// Shrink takes pods away, and Services that have none any more.
	Shrink []change.Change
	// Record is what to write into the Experiment itself, after all the above succeeded. Nil when nothing is to be written.
	Record *Record
	// NeedsRollout: the Rollout whose step the Experiment is must be read before more can be decided. The plan is not to be carried out:
	// the shell looks, adds what it saw and asks again in the same pass.
	NeedsRollout bool
	// Events are published after the record; those of RolloutEvents on the Rollout whose step the Experiment is, if it is one.
	Events, RolloutEvents []change.Event
	// Wake is when to reconcile again if nothing happens first. Zero: there is nothing to wait for.
	Wake time.Time
	// Notes are the decisions with their reasons, in the order in which they were taken.
	Notes []change.Note
}

// Writes reports whether the plan asks for any write at all.
func (p Plan) Writes() bool {
	return len(p.Grow)+len(p.Route)+len(p.Judge)+len(p.Shrink) > 0 || p.Record != nil
}

// Changes are all changes of other objects, in their order.
func (p Plan) Changes() [][]change.Change {
	return [][]change.Change{p.Grow, p.Route, p.Judge, p.Shrink}
}

// Record is what a plan writes into the Experiment. Experiments have no status subresource: it is one write of the object, in which
// nothing but the status differs, and it requires From's resourceVersion.
type Record struct{ From, To *v1alpha1.Experiment }

// Next is what to do now about an Experiment, as far as what was observed tells. One that is over gets a plan without writes once its
// pods and Services are gone.
func Next(o Observed) Plan {
	if o.Experiment.DeletionTimestamp != nil {
		return Plan{} // what it owns goes by owner references
	}
	p := newPass(o)
	if len(p.problems) > 0 && !analysis.Ended(p.was.Phase) {
		p.refuse()
		return p.done()
	}
	p.sortTemplates()
	p.seeRuns()
	if analysis.Ended(p.was.Phase) {
		p.count()
		p.endRuns()
		p.retire()
	} else {
		p.count()
		if !p.spec.Terminate {
			p.bringUp()
			p.analyse()
		}
		p.decide()
		p.retireLeftovers()
	}
	p.conclude()
	return p.done()
}

// done is the plan with all that the pass had to say.
func (p *pass) done() Plan {
	p.plan.Events, p.plan.Notes, p.plan.Wake = p.journal.Events, p.journal.Notes, p.journal.Wake
	return p.plan
}

// pass is one run of [Next]: what was observed, and what has been decided so far.
type pass struct {
	Observed
	spec      spec.Experiment
	templates []*template
	// was is the status as observed, is the one to record, still being written.
	was, is  *v1alpha1.ExperimentStatus
	problems []spec.Problem
	plan     Plan
	journal  change.Journal
}

func newPass(o Observed) *pass {
	resolved, problems := spec.ResolveExperiment(o.Experiment)
	p := &pass{Observed: o, spec: resolved, problems: problems, was: &o.Experiment.Status, is: o.Experiment.Status.DeepCopy()}
	if len(problems) == 0 && len(p.was.TemplateStatuses) == 0 && !analysis.Ended(p.was.Phase) { // nothing runs yet: the time to find out
		p.problems = analysis.CheckExperiment(resolved, o.Templates)
	}
	return p
}

// now is the present in the whole seconds that the API stores.
func (o Observed) now() metav1.Time { return metav1.NewTime(o.Now.Truncate(time.Second)) }

// nowOrLater is the first whole second that is not before the present, for starts of waits: none ends too early.
func (o Observed) nowOrLater() metav1.Time {
	return metav1.NewTime(o.Now.Add(time.Second - time.Nanosecond).Truncate(time.Second))
}
