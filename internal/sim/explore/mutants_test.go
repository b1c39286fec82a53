package explore

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim"
)

// mutants are engines with a fault, made from the good one by changing what it sees or what it says.
var mutants = map[string]Engine{
	"trusts counts of another size":        sees(func(rs *appsv1.ReplicaSet) { rs.Status.ObservedGeneration = rs.Generation }),
	"takes ready pods for available ones":  sees(func(rs *appsv1.ReplicaSet) { rs.Status.AvailableReplicas = rs.Status.ReadyReplicas }),
	"takes pods for available ones":        sees(func(rs *appsv1.ReplicaSet) { rs.Status.AvailableReplicas = rs.Status.Replicas }),
	"takes wanted pods for available ones": sees(func(rs *appsv1.ReplicaSet) { rs.Status.AvailableReplicas = *rs.Spec.Replicas }),
	"forgets that growing pods take room":  sees(func(rs *appsv1.ReplicaSet) { *rs.Spec.Replicas = min(rs.Status.Replicas, *rs.Spec.Replicas) }),
	"sees only the two newest ReplicaSets": func(o plan.Observed) plan.Plan {
		o.ReplicaSets = o.ReplicaSets[max(0, len(o.ReplicaSets)-2):]
		return plan.Next(o)
	},
	"ends pauses early": func(o plan.Observed) plan.Plan {
		o.Now = o.Now.Add(3 * time.Second)
		return plan.Next(o)
	},
	"does not see spec.paused": edited(func(ro *v1alpha1.Rollout) { ro.Spec.Paused = false }),
	"does not see an abort":    edited(func(ro *v1alpha1.Rollout) { ro.Status.Abort = false }),
	"forgets that it paused":   edited(func(ro *v1alpha1.Rollout) { ro.Status.ControllerPause = false }),

	"never asks to be woken":         says(func(_ plan.Observed, p *plan.Plan) { p.Wake = time.Time{} }),
	"asks to be woken all the time":  says(func(o plan.Observed, p *plan.Plan) { p.Wake = o.Now }),
	"tells everything twice":         says(func(_ plan.Observed, p *plan.Plan) { p.Events = slices.Concat(p.Events, p.Events) }),
	"forgets nothing":                says(func(_ plan.Observed, p *plan.Plan) { p.Shrink = slices.DeleteFunc(p.Shrink, isDelete) }),
	"deletes what it should shrink":  says(func(_ plan.Observed, p *plan.Plan) { p.Shrink = eachUpdate(p.Shrink, deleteAtZero) }),
	"grows one pod too many":         says(func(_ plan.Observed, p *plan.Plan) { p.Grow = eachUpdate(p.Grow, resize(1)) }),
	"grows one pod too few":          says(func(_ plan.Observed, p *plan.Plan) { p.Grow = eachUpdate(p.Grow, resize(-1)) }),
	"shrinks one pod too far":        says(func(_ plan.Observed, p *plan.Plan) { p.Shrink = eachUpdate(p.Shrink, resize(-1)) }),
	"shrinks to nothing":             says(func(_ plan.Observed, p *plan.Plan) { p.Shrink = eachUpdate(p.Shrink, resize(-1000)) }),
	"never shrinks to nothing":       says(func(_ plan.Observed, p *plan.Plan) { p.Shrink = eachUpdate(p.Shrink, atLeastOne) }),
	"promotes as soon as it updates": records(func(_ plan.Observed, s *v1alpha1.RolloutStatus) { s.StableRS = s.CurrentPodHash }),
	"an abort leaves a promotion standing": records(func(o plan.Observed, s *v1alpha1.RolloutStatus) {
		s.PromoteFull = s.PromoteFull || s.Abort && o.Rollout.Status.PromoteFull
	}),
	"dates pauses back": records(func(_ plan.Observed, s *v1alpha1.RolloutStatus) { datePausesBack(s) }),
	"is Healthy before its pods are labelled": records(func(_ plan.Observed, s *v1alpha1.RolloutStatus) {
		if s.Message == "pod labels and annotations are still being updated" {
			s.Phase, s.Message = v1alpha1.RolloutPhaseHealthy, ""
		}
	}),
	"notes the time of every look": says(func(o plan.Observed, p *plan.Plan) {
		to := *o.Rollout
		if p.Record != nil {
			to = *p.Record.To
		}
		to.Status = *to.Status.DeepCopy()
		to.Status.Message = o.Now.String() + fmt.Sprint(o.Rollout.ResourceVersion)
		p.Record = &plan.Record{From: o.Rollout, To: &to}
	}),

	// The switch of a blue-green rollout.
	"switches at once":                            says(switchAtOnce),
	"does not wait for a person to promote":       edited(blueGreen(func(b *v1alpha1.BlueGreenStrategy) { b.AutoPromotionEnabled = nil })),
	"skips the analysis before the switch":        edited(blueGreen(func(b *v1alpha1.BlueGreenStrategy) { b.PrePromotionAnalysis = nil })),
	"skips the analysis after the switch":         edited(blueGreen(func(b *v1alpha1.BlueGreenStrategy) { b.PostPromotionAnalysis = nil })),
	"forgets the delay of an old stack":           sees(pastDeadline),
	"keeps the deadline of what serves again":     says(func(_ plan.Observed, p *plan.Plan) { p.Grow = eachUpdate(p.Grow, keepDeadline) }),
	"never takes an old stack away":               sees(func(rs *appsv1.ReplicaSet) { farDeadline(rs) }),
	"forgets the preview":                         routes(func(u change.UpdateService) (change.UpdateService, bool) { return u, u.From.Name != preview }),
	"does not give Services back":                 routes(func(u change.UpdateService) (change.UpdateService, bool) { return u, selected(u.To) != "" }),
	"strips selectors":                            routes(stripSelector),
	"does not mark Services as its own":           routes(unmarked),
	"takes a Service without version for its own": func(o plan.Observed) plan.Plan { return plan.Next(withActive(o)) },

	// Analyses, restarts, labels.
	"skips analysis steps":      edited(withoutAnalysisSteps),
	"takes failures for passes": func(o plan.Observed) plan.Plan { return plan.Next(withGoodRuns(o)) },
	"does not abort on failure": records(func(o plan.Observed, s *v1alpha1.RolloutStatus) {
		if !o.Rollout.Status.Abort {
			s.Abort, s.AbortedAt = false, nil
		}
	}),
	"lets analyses run on":    says(func(_ plan.Observed, p *plan.Plan) { p.Judge = slices.DeleteFunc(p.Judge, isTermination) }),
	"keeps all analyses":      says(func(_ plan.Observed, p *plan.Plan) { p.Shrink = slices.DeleteFunc(p.Shrink, isRunDeletion) }),
	"evicts all pods at once": says(evictAll),
	"never ends a restart": records(func(o plan.Observed, s *v1alpha1.RolloutStatus) {
		s.RestartedAt = o.Rollout.Status.RestartedAt
	}),
	"labels no pods": says(func(_ plan.Observed, p *plan.Plan) { p.Label = nil }),
}

// shells are loops with a flaw around the good engine.
var shells = map[string]sim.Flaws{
	"drops the resourceVersion":          {Unguarded: true},
	"does not wait for its own writes":   {ForgetsOwnWrites: true},
	"shrinks before it grows and routes": {ShrinksFirst: true},
	"records before it acts":             {RecordsFirst: true},
}

// broken are all subjects that are to be found out.
func broken() map[string]Subject {
	all := map[string]Subject{}
	for name, engine := range mutants {
		all[name] = Subject{Engine: engine}
	}
	for name, flaws := range shells {
		all[name] = Subject{Engine: plan.Next, Shell: flaws}
	}
	return all
}

// TestMutantsAreFound proves that the rules bite: every broken engine, and every broken loop, is found out in a few histories.
func TestMutantsAreFound(t *testing.T) {
	for name, subject := range broken() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			isFound(t, "", func(seed uint64) *Fault { return Play(Trial{Seed: seed}, subject, nil) })
		})
	}
}

// sees is an engine that sees ReplicaSets otherwise than they are.
func sees(change func(*appsv1.ReplicaSet)) Engine {
	return func(o plan.Observed) plan.Plan {
		sets := make([]*appsv1.ReplicaSet, len(o.ReplicaSets))
		for i, rs := range o.ReplicaSets {
			sets[i] = rs.DeepCopy()
			change(sets[i])
		}
		o.ReplicaSets = sets
		return plan.Next(o)
	}
}

// edited is an engine that sees the Rollout otherwise than it is.
func edited(change func(*v1alpha1.Rollout)) Engine {
	return func(o plan.Observed) plan.Plan {
		ro := *o.Rollout
		change(&ro)
		o.Rollout = &ro
		return plan.Next(o)
	}
}

// says is an engine that says something else than it should.
func says(change func(plan.Observed, *plan.Plan)) Engine {
	return func(o plan.Observed) plan.Plan {
		p := plan.Next(o)
		change(o, &p)
		return p
	}
}

// records is an engine that writes down something else than it should, whenever it does.
func records(change func(plan.Observed, *v1alpha1.RolloutStatus)) Engine {
	return says(func(o plan.Observed, p *plan.Plan) {
		if p.Record != nil {
			to := *p.Record.To
			to.Status = *to.Status.DeepCopy()
			change(o, &to.Status)
			p.Record = &plan.Record{From: p.Record.From, To: &to}
		}
	})
}

func isDelete(c change.Change) bool {
	_, ok := c.(change.DeleteReplicaSet)
	return ok
}

func eachUpdate(changes []change.Change, mutate func(change.UpdateReplicaSet) change.Change) []change.Change {
	out := slices.Clone(changes)
	for i, c := range out {
		if u, ok := c.(change.UpdateReplicaSet); ok {
			out[i] = mutate(u)
		}
	}
	return out
}

// resize adds to a size that changes anyway.
func resize(by int32) func(change.UpdateReplicaSet) change.Change {
	return func(u change.UpdateReplicaSet) change.Change {
		if *u.From.Spec.Replicas == *u.To.Spec.Replicas {
			return u
		}
		to := u.To.DeepCopy()
		*to.Spec.Replicas = max(0, *to.Spec.Replicas+by)
		u.To = to
		return u
	}
}

func atLeastOne(u change.UpdateReplicaSet) change.Change {
	to := u.To.DeepCopy()
	*to.Spec.Replicas = max(1, *to.Spec.Replicas)
	u.To = to
	return u
}

func deleteAtZero(u change.UpdateReplicaSet) change.Change {
	if *u.To.Spec.Replicas == 0 {
		return change.DeleteReplicaSet{ReplicaSet: u.From}
	}
	return u
}

func datePausesBack(s *v1alpha1.RolloutStatus) {
	for i := range s.PauseConditions {
		s.PauseConditions[i].StartTime.Time = s.PauseConditions[i].StartTime.Add(-2 * time.Second)
	}
}

func blueGreen(change func(*v1alpha1.BlueGreenStrategy)) func(*v1alpha1.Rollout) {
	return func(ro *v1alpha1.Rollout) {
		if b := ro.Spec.Strategy.BlueGreen; b != nil {
			b = b.DeepCopy()
			change(b)
			ro.Spec.Strategy.BlueGreen = b
		}
	}
}

// switchAtOnce points the active Service at the newest version in every pass.
func switchAtOnce(o plan.Observed, p *plan.Plan) {
	b, hash := o.Rollout.Spec.Strategy.BlueGreen, o.Rollout.Status.CurrentPodHash
	if b == nil || hash == "" {
		return
	}
	for _, s := range o.Services {
		if s.Name == b.ActiveService && selected(s) != hash {
			to := s.DeepCopy()
			to.Spec.Selector[v1alpha1.PodTemplateHashLabel] = hash
			p.Route = []change.Change{change.UpdateService{From: s, To: to}}
		}
	}
}

func pastDeadline(rs *appsv1.ReplicaSet) { setDeadline(rs, sim.Start) }
func farDeadline(rs *appsv1.ReplicaSet)  { setDeadline(rs, sim.Start.AddDate(1, 0, 0)) }

func setDeadline(rs *appsv1.ReplicaSet, at time.Time) {
	if rs.Annotations[v1alpha1.ScaleDownDeadlineAnnotation] != "" {
		rs.Annotations[v1alpha1.ScaleDownDeadlineAnnotation] = at.Format(time.RFC3339)
	}
}

func keepDeadline(u change.UpdateReplicaSet) change.Change {
	if deadline := u.From.Annotations[v1alpha1.ScaleDownDeadlineAnnotation]; deadline != "" && *u.To.Spec.Replicas > 0 {
		u.To = u.To.DeepCopy()
		u.To.Annotations[v1alpha1.ScaleDownDeadlineAnnotation] = deadline
	}
	return u
}

// routes is an engine that changes what it writes to Services, or leaves it out.
func routes(edit func(change.UpdateService) (change.UpdateService, bool)) Engine {
	return says(func(_ plan.Observed, p *plan.Plan) {
		var out []change.Change
		for _, c := range p.Route {
			u, ok := c.(change.UpdateService)
			if !ok {
				out = append(out, c)
				continue
			}
			u.To = u.To.DeepCopy()
			if next, ok := edit(u); ok {
				out = append(out, next)
			}
		}
		p.Route = out
	})
}

func stripSelector(u change.UpdateService) (change.UpdateService, bool) {
	maps.DeleteFunc(u.To.Spec.Selector, func(key, _ string) bool { return key != v1alpha1.PodTemplateHashLabel })
	return u, true
}

func unmarked(u change.UpdateService) (change.UpdateService, bool) {
	delete(u.To.Annotations, v1alpha1.ManagedByAnnotation)
	return u, true
}

// withActive takes an active Service that selects no version for one that selects the stable one.
func withActive(o plan.Observed) plan.Observed {
	o.Services = slices.Clone(o.Services)
	for i, s := range o.Services {
		if s.Name == active && selected(s) == "" && o.Rollout.Status.StableRS != "" {
			o.Services[i] = s.DeepCopy()
			o.Services[i].Spec.Selector[v1alpha1.PodTemplateHashLabel] = o.Rollout.Status.StableRS
		}
	}
	return o
}

func withoutAnalysisSteps(ro *v1alpha1.Rollout) {
	c := ro.Spec.Strategy.Canary
	if c == nil {
		return
	}
	c = c.DeepCopy()
	for i := range c.Steps {
		if c.Steps[i].Analysis != nil {
			c.Steps[i] = v1alpha1.CanaryStep{Pause: &v1alpha1.RolloutPause{Duration: new(intstr.FromInt32(1))}}
		}
	}
	ro.Spec.Strategy.Canary = c
}

func withGoodRuns(o plan.Observed) plan.Observed {
	o.AnalysisRuns = passing(o.AnalysisRuns)
	return o
}

// passing takes runs that failed for runs that passed.
func passing(runs []*v1alpha1.AnalysisRun) []*v1alpha1.AnalysisRun {
	runs = slices.Clone(runs)
	for i, run := range runs {
		if run.Status.Phase == v1alpha1.AnalysisPhaseFailed || run.Status.Phase == v1alpha1.AnalysisPhaseError {
			good := *run
			good.Status.Phase = v1alpha1.AnalysisPhaseSuccessful
			runs[i] = &good
		}
	}
	return runs
}

func isTermination(c change.Change) bool {
	_, ok := c.(change.TerminateAnalysisRun)
	return ok
}

func isRunDeletion(c change.Change) bool {
	_, ok := c.(change.DeleteAnalysisRun)
	return ok
}

// evictAll evicts all pods where one is evicted.
func evictAll(o plan.Observed, p *plan.Plan) {
	if !slices.ContainsFunc(p.Shrink, func(c change.Change) bool { _, ok := c.(change.EvictPod); return ok }) {
		return
	}
	p.Shrink = nil
	for _, pods := range o.Pods {
		for _, pod := range slices.SortedFunc(slices.Values(pods), func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) }) {
			p.Shrink = append(p.Shrink, change.EvictPod{Pod: pod})
		}
	}
}
