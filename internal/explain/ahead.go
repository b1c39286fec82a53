package explain

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// course is what the engine does until it waits.
type course struct {
	does, waits, refused []Decision
	// wake is when it wants to reconcile next, zero for never.
	wake time.Time
	// world is the cluster afterwards.
	world plan.Observed
}

// passes is how many of the engine's reconciles are followed. A report of a longer chain would say nothing new.
const passes = 6

// ahead follows the engine until it does nothing more at this moment, assuming that each plan is applied.
func ahead(o plan.Observed, look Look) (course, error) {
	c := course{world: o}
	for range passes {
		next, err := decide(&c.world, look)
		if err != nil {
			return course{}, err
		}
		c.waits, c.wake = nil, next.Wake
		for _, n := range next.Notes {
			d := Decision{What: n.Text, Why: n.Reason, Promise: n.Promise}
			switch n.Topic {
			case change.TopicWait:
				c.waits = append(c.waits, d)
			case change.TopicRefuse:
				c.refused = append(c.refused, d)
			default:
				if next.Writes() && !slices.Contains(c.does, d) {
					c.does = append(c.does, d)
				}
			}
		}
		if !next.Writes() || len(c.refused) > 0 {
			return c, nil
		}
		c.world = carriedOut(c.world, next)
	}
	return c, nil
}

// decide calls the engine, and observes what it requests until it requests nothing more.
func decide(o *plan.Observed, look Look) (plan.Plan, error) {
	for range 10 {
		next := plan.Next(*o)
		if len(next.Needs) == 0 {
			return next, nil
		}
		for _, need := range next.Needs {
			if err := look(o, need); err != nil {
				return plan.Plan{}, err
			}
		}
	}
	return plan.Plan{}, fmt.Errorf("the engine keeps requesting %s", o.Rollout.Name)
}

// carriedOut is the cluster after a plan was applied: objects are as the plan wants them, but pods have not been created
// or deleted yet.
func carriedOut(o plan.Observed, p plan.Plan) plan.Observed {
	if p.Record != nil {
		o.Rollout = p.Record.To
	}
	for _, c := range slices.Concat(p.Grow, p.Route, p.Judge, p.Shrink) {
		switch c := c.(type) {
		case change.CreateReplicaSet:
			rs := c.ReplicaSet.DeepCopy()
			rs.CreationTimestamp = metav1.NewTime(o.Now)
			o.ReplicaSets = append(slices.Clone(o.ReplicaSets), rs)
		case change.UpdateReplicaSet:
			o.ReplicaSets = replaced(o.ReplicaSets, c.To)
		case change.DeleteReplicaSet:
			o.ReplicaSets = removed(o.ReplicaSets, c.ReplicaSet.Name)
		case change.UpdateService:
			o.Services = replaced(o.Services, c.To)
		case change.CreateAnalysisRun:
			o.AnalysisRuns = append(slices.Clone(o.AnalysisRuns), c.Run)
		case change.TerminateAnalysisRun:
			o.AnalysisRuns = replaced(o.AnalysisRuns, c.To)
		case change.WriteRoute:
			o.Routes = rewritten(o.Routes, c)
		case change.CreateExperiment:
			o.Experiments = append(slices.Clone(o.Experiments), c.Experiment)
		case change.TerminateExperiment:
			o.Experiments = replaced(o.Experiments, c.To)
		case change.DeleteAnalysisRun:
			o.AnalysisRuns = removed(o.AnalysisRuns, c.Run.Name)
		case change.DeleteExperiment:
			o.Experiments = removed(o.Experiments, c.Experiment.Name)
		case change.EvictPod, change.ScaleWorkload, change.UpdatePod: // others apply these, in their own time
		case change.CreateService, change.DeleteService: // an Experiment's, which is not explained here
		}
	}
	o.Pods = relabelled(o.Pods, p.Label)
	return o
}

func rewritten(routes traffic.Objects, c change.WriteRoute) traffic.Objects {
	after := maps.Clone(routes)
	if after == nil {
		after = traffic.Objects{}
	}
	if c.To == nil {
		delete(after, traffic.KeyOf(c.From))
		return after
	}
	after[traffic.KeyOf(c.To)] = c.To
	return after
}

func replaced[T metav1.Object](all []T, by T) []T {
	all = slices.Clone(all)
	for i := range all {
		if all[i].GetName() == by.GetName() {
			all[i] = by
		}
	}
	return all
}

func removed[T metav1.Object](all []T, name string) []T {
	return slices.DeleteFunc(slices.Clone(all), func(obj T) bool { return obj.GetName() == name })
}

func relabelled(pods map[string][]*corev1.Pod, changes []change.Change) map[string][]*corev1.Pod {
	for _, c := range changes {
		update, ok := c.(change.UpdatePod)
		if !ok {
			continue
		}
		changed := make(map[string][]*corev1.Pod, len(pods))
		for hash, of := range pods {
			changed[hash] = replaced(of, update.To)
		}
		pods = changed
	}
	return pods
}
