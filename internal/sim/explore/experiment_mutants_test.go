package explore

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis/measure"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/experiment"
	"github.com/sluice-delivery/sluice/internal/plan"
)

// experimentMutants are faults of the engines that decide about Experiments and AnalysisRuns, and of what the engine of Rollouts decides
// about Experiments, with the rule that must find each.
var experimentMutants = map[string]struct {
	rule    string
	subject Subject
}{
	"forgets how long pods are kept": {"delay", tries(func(o experiment.Observed) experiment.Plan {
		o.Experiment = o.Experiment.DeepCopy()
		o.Experiment.Spec.ScaleDownDelaySeconds = new(int32(0))
		return experiment.Next(o)
	})},
	"does not ask whether routers still send to pods": {"weight", tries(func(o experiment.Observed) experiment.Plan {
		o.RolloutRead, o.Rollout = true, nil
		return experiment.Next(o)
	})},
	"never takes pods away": {"end", tries(tells(func(p *experiment.Plan) {
		p.Shrink = slices.DeleteFunc(p.Shrink, func(c change.Change) bool { _, ok := c.(change.UpdateReplicaSet); return ok })
	}))},
	"leaves its Services behind": {"end", tries(tells(func(p *experiment.Plan) {
		p.Shrink = slices.DeleteFunc(p.Shrink, func(c change.Change) bool { _, ok := c.(change.DeleteService); return ok })
	}))},
	"ends before its time": {"duration", tries(func(o experiment.Observed) experiment.Plan {
		o.Now = o.Now.Add(3 * time.Second)
		return experiment.Next(o)
	})},
	"never asks to be woken":   {"wake", tries(tells(func(p *experiment.Plan) { p.Wake = time.Time{} }))},
	"gives a version one more": {"size", tries(tells(func(p *experiment.Plan) { p.Grow = eachSet(p.Grow) }))},
	"takes failures of analyses for passes": {"verdict", tries(func(o experiment.Observed) experiment.Plan {
		o.AnalysisRuns = passing(o.AnalysisRuns)
		return experiment.Next(o)
	})},
	"begins an analysis again that it began": {"twice", tries(func(o experiment.Observed) experiment.Plan {
		p := experiment.Next(o)
		for _, run := range o.AnalysisRuns {
			if run.Status.Phase == v1alpha1.AnalysisPhaseRunning && len(p.Judge) == 0 {
				again := run.DeepCopy()
				again.Name += ".1"
				again.ResourceVersion, again.Status = "", v1alpha1.AnalysisRunStatus{}
				p.Judge = append(p.Judge, change.CreateAnalysisRun{Run: again})
			}
		}
		return p
	})},

	"waits for an experiment that is over": {"", Subject{Engine: func(o plan.Observed) plan.Plan {
		o.Experiments = slices.Clone(o.Experiments)
		for i, ex := range o.Experiments {
			if ex.Status.Phase == v1alpha1.AnalysisPhaseSuccessful {
				running := *ex
				running.Status.Phase = v1alpha1.AnalysisPhaseRunning
				o.Experiments[i] = &running
			}
		}
		return plan.Next(o)
	}}},
	"leaves an experiment's share in the route": {"weight", Subject{Engine: says(func(o plan.Observed, p *plan.Plan) {
		for _, ex := range o.Experiments {
			if ex.Status.Phase == v1alpha1.AnalysisPhaseSuccessful {
				p.Route = slices.DeleteFunc(p.Route, func(c change.Change) bool { _, ok := c.(change.WriteRoute); return ok })
			}
		}
	})}},

	"measures what is being measured": {"measure", judges(func(o measure.Observed) measure.Plan {
		o.Busy = nil
		return measure.Next(o)
	})},
	"measures too often": {"measure", judges(eachMetric(func(m *v1alpha1.Metric) {
		if m.Interval != "" {
			m.Interval = "1s"
		}
	}))},
	"tolerates every failure": {"verdict", judges(eachMetric(func(m *v1alpha1.Metric) { m.FailureLimit = new(intstr.FromInt32(1000)) }))},
	"measures once less": {"verdict", judges(eachMetric(func(m *v1alpha1.Metric) {
		if m.Count != nil && m.Count.IntValue() > 1 {
			m.Count = new(intstr.FromInt32(m.Count.IntVal - 1))
		}
	}))},
	"counts a result each time that it sees it": {"measure", judges(func(o measure.Observed) measure.Plan {
		results := slices.Clone(o.Results)
		for _, r := range results {
			r.Number++
			o.Results = append(o.Results, r)
		}
		return measure.Next(o)
	})},
}

func tries(next func(experiment.Observed) experiment.Plan) Subject {
	return Subject{Engine: plan.Next, Experiment: next}
}

func judges(next func(measure.Observed) measure.Plan) Subject {
	return Subject{Engine: plan.Next, Measure: next}
}

func tells(change func(*experiment.Plan)) func(experiment.Observed) experiment.Plan {
	return func(o experiment.Observed) experiment.Plan {
		p := experiment.Next(o)
		change(&p)
		return p
	}
}

func eachSet(changes []change.Change) []change.Change {
	for i, c := range changes {
		if create, ok := c.(change.CreateReplicaSet); ok {
			create.ReplicaSet = create.ReplicaSet.DeepCopy()
			*create.ReplicaSet.Spec.Replicas++
			changes[i] = create
		}
	}
	return changes
}

// eachMetric is an engine that reads metrics as something else than what is written.
func eachMetric(change func(*v1alpha1.Metric)) func(measure.Observed) measure.Plan {
	return func(o measure.Observed) measure.Plan {
		written := o.Run
		o.Run = o.Run.DeepCopy()
		for i := range o.Run.Spec.Metrics {
			change(&o.Run.Spec.Metrics[i])
		}
		p := measure.Next(o)
		if p.Record != nil {
			to := written.DeepCopy()
			to.Status = p.Record.To.Status
			p.Record = &measure.Record{From: written, To: to}
		}
		return p
	}
}

// TestExperimentMutantsAreFound proves that the rules about Experiments and measurements bite.
func TestExperimentMutantsAreFound(t *testing.T) {
	for name, mutant := range experimentMutants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			isFound(t, mutant.rule, func(seed uint64) *Fault {
				return Play(Trial{Seed: seed, Experiments: true}, mutant.subject, nil)
			})
		})
	}
}
