package explore

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// Rules in this file are about one plan, by what it was made of: they hold whatever happens, and need no history.

// plausible checks that what a plan says is what it does.
func (r *rules) plausible(p sim.Pass) {
	if len(p.Plan.Needs) > 0 {
		r.history.fail("needs", "a plan is carried out that needs %v", p.Plan.Needs)
	}
	for _, n := range p.Plan.Notes {
		if n.Text == "" || n.Promise != (change.Promise{}) && n.Reason == "" {
			r.history.fail("notes", "a note says nothing, or not what holds something back: %+v", n)
		}
	}
	r.noted(p.Plan)
	if p.Whole() && !r.history.Shell { // or its events are not told
		r.reported(p)
		r.transitions(p)
	}
	if p.Plan.Record != nil {
		r.dated(p)
		if s, ok := r.resolve(p.Observed.Rollout, p.Observed.Workload); ok && p.Observed.CreateFailure == nil {
			r.states(p, s)
		}
	}
	if r.passes%16 == 0 {
		r.sleeps(p)
	}
}

// noted checks that there is a note about each object that is created, deleted, scaled, or pointed elsewhere.
func (r *rules) noted(p plan.Plan) {
	said := func(topic change.Topic, words ...string) {
		if !slices.ContainsFunc(p.Notes, func(n change.Note) bool {
			return n.Topic == topic && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(n.Text, w) })
		}) {
			r.history.fail("notes", "no note of the topic %q has %q", topic, words)
		}
	}
	for _, c := range slices.Concat(p.Grow, p.Route, p.Judge, p.Shrink) {
		switch c := c.(type) {
		case change.CreateReplicaSet:
			said(change.TopicGrow, "create "+c.ReplicaSet.Name)
		case change.UpdateReplicaSet:
			switch from, to := replicas(c.From), replicas(c.To); {
			case from < to:
				said(change.TopicGrow, fmt.Sprintf("scale %s from %d to %d", c.To.Name, from, to))
			case from > to:
				said(change.TopicShrink, fmt.Sprintf("scale %s from %d to %d", c.To.Name, from, to))
			}
		case change.DeleteReplicaSet:
			said(change.TopicShrink, "delete "+c.ReplicaSet.Name)
		case change.UpdateService:
			switch from, to := selected(c.From), selected(c.To); {
			case to == "":
				said(change.TopicRoute, "release service "+c.To.Name)
			case from != to:
				said(change.TopicRoute, fmt.Sprintf("point service %s to %s", c.To.Name, to))
			}
		case change.WriteRoute:
			if c.Release {
				said(change.TopicRoute, "release", c.From.GetName())
			}
		case change.EvictPod:
			said(change.TopicShrink, "restart pod "+c.Pod.Name)
		case change.ScaleWorkload:
			said(change.TopicShrink, fmt.Sprintf("scale Deployment %s from %d to %d", c.To.Name, *c.From.Spec.Replicas, *c.To.Spec.Replicas))
		case change.CreateAnalysisRun:
			said(change.TopicJudge, "begin analysis "+c.Run.Name)
		case change.TerminateAnalysisRun:
			said(change.TopicJudge, "end analysis "+c.To.Name)
		case change.DeleteAnalysisRun:
			said(change.TopicJudge, "delete analysis "+c.Run.Name)
		case change.CreateExperiment:
			said(change.TopicJudge, "begin experiment "+c.Experiment.Name)
		case change.TerminateExperiment:
			said(change.TopicJudge, "end experiment "+c.To.Name)
		case change.DeleteExperiment:
			said(change.TopicJudge, "delete experiment "+c.Experiment.Name)
		case change.CreateService, change.DeleteService, change.UpdatePod: // no Rollout has such Services, and one note is about all pods
		}
	}
}

// reported checks that each size, Service and Experiment that a plan changes has its event, and each such event its change.
func (r *rules) reported(p sim.Pass) {
	var want []string
	scaled := func(name string, from, to int) {
		direction := "up"
		if to < from {
			direction = "down"
		}
		if from != to {
			want = append(want, fmt.Sprintf("Scaled %s ReplicaSet %s from %d to %d", direction, name, from, to))
		}
	}
	for _, c := range slices.Concat(p.Plan.Grow, p.Plan.Route, p.Plan.Judge, p.Plan.Shrink) {
		switch c := c.(type) {
		case change.CreateReplicaSet:
			want = append(want, "Created ReplicaSet "+c.ReplicaSet.Name)
			scaled(c.ReplicaSet.Name, 0, replicas(c.ReplicaSet))
		case change.UpdateReplicaSet:
			scaled(c.From.Name, replicas(c.From), replicas(c.To))
		case change.UpdateService:
			if from, to := selected(c.From), selected(c.To); from != to && to != "" {
				want = append(want, fmt.Sprintf("Switched selector for service '%s' from '%s' to '%s'", c.To.Name, from, to))
			}
		case change.CreateExperiment:
			want = append(want, fmt.Sprintf("Created Experiment '%s'", c.Experiment.Name))
		case change.DeleteReplicaSet, change.CreateService, change.DeleteService, change.WriteRoute, change.UpdatePod, change.EvictPod, change.ScaleWorkload,
			change.CreateAnalysisRun, change.TerminateAnalysisRun, change.DeleteAnalysisRun, change.TerminateExperiment, change.DeleteExperiment:
		}
	}
	var got []string
	for _, e := range p.Plan.Events {
		switch e.Reason {
		case v1alpha1.EventScalingReplicaSet, v1alpha1.EventNewReplicaSetCreated, v1alpha1.EventSwitchService, v1alpha1.EventExperimentCreated:
			got = append(got, withoutRevision(e.Message))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		r.history.fail("events", "what is done is %q, and what is told is %q", want, got)
	}
}

// withoutRevision is an event without the revision in it.
func withoutRevision(message string) string {
	before, rest, found := strings.Cut(message, " (revision ")
	_, after, closed := strings.Cut(rest, ")")
	if !found || !closed {
		return message
	}
	return before + after
}

// transitions checks that what the status says of the update changes with its events, and only then.
func (r *rules) transitions(p sim.Pass) {
	from, to := p.Observed.Rollout.Status, after(p)
	was, is := truths(from), truths(to)
	for reason, happens := range map[string]bool{
		v1alpha1.ReasonRolloutPaused:      !was[v1alpha1.ConditionPaused] && is[v1alpha1.ConditionPaused],
		v1alpha1.EventRolloutNotCompleted: was[v1alpha1.ConditionCompleted] && !is[v1alpha1.ConditionCompleted],
		v1alpha1.EventRolloutCompleted:    from.StableRS != to.StableRS,
		v1alpha1.EventRolloutUpdated:      from.CurrentPodHash != to.CurrentPodHash,
	} {
		if n := count(p.Plan.Events, reason); happens != (n == 1) || n > 1 {
			r.history.fail("events", "%s is told %d times, and happens: %t", reason, n, happens)
		}
	}
	for _, e := range p.Plan.Events {
		var old, now int32
		if n, _ := fmt.Sscanf(e.Message, "Traffic weight updated from %d to %d", &old, &now); n == 2 && (to.Canary.Weights == nil || to.Canary.Weights.Canary.Weight != now || old == now) {
			r.history.fail("events", "%s, and the status has %+v", e.Message, to.Canary.Weights)
		}
	}
}

func count(events []change.Event, reason string) (n int) {
	for _, e := range events {
		if e.Reason == reason {
			n++
		}
	}
	return n
}

func truths(s v1alpha1.RolloutStatus) map[v1alpha1.RolloutConditionType]bool {
	true := map[v1alpha1.RolloutConditionType]bool{}
	for _, c := range s.Conditions {
		true[c.Type] = c.Status == corev1.ConditionTrue
	}
	return true
}

// dated checks the times of conditions: the transition moves with the status of the condition and never otherwise, and none is ahead of the clock.
func (r *rules) dated(p sim.Pass) {
	was := map[v1alpha1.RolloutConditionType]v1alpha1.RolloutCondition{}
	for _, c := range p.Plan.Record.From.Status.Conditions {
		was[c.Type] = c
	}
	now := p.Observed.Now.Truncate(time.Second)
	conditions := p.Plan.Record.To.Status.Conditions
	for _, c := range conditions {
		before, had := was[c.Type]
		changed := !had || before.Status != c.Status
		switch at := c.LastTransitionTime.Time; {
		case changed && !at.Equal(now), !changed && !at.Equal(before.LastTransitionTime.Time):
			r.history.fail("conditions", "%s was %q, is %q, and changed at %s", c.Type, before.Status, c.Status, at)
		case c.LastUpdateTime.After(now), had && c.LastUpdateTime.Before(&before.LastUpdateTime):
			r.history.fail("conditions", "%s was updated at %s, and before that at %s", c.Type, c.LastUpdateTime, before.LastUpdateTime)
		}
	}
	if !slices.IsSortedFunc(conditions, func(a, b v1alpha1.RolloutCondition) int { return cmp.Compare(a.Type, b.Type) }) {
		r.history.fail("conditions", "they are not sorted")
	}
}

// states checks that the status is what was observed, and does not contradict itself.
func (r *rules) states(p sim.Pass, s spec.Rollout) {
	ro := p.Plan.Record.To
	to, is := ro.Status, truths(ro.Status)
	settled := to.StableRS == to.CurrentPodHash
	var all, ready, available int32
	for _, rs := range p.Observed.ReplicaSets {
		if _, canary := s.Strategy.(spec.Canary); canary || hashOf(rs) == to.BlueGreen.ActiveSelector {
			ready, available = ready+rs.Status.ReadyReplicas, available+rs.Status.AvailableReplicas
		}
		all += rs.Status.Replicas
	}
	workload := ""
	if p.Observed.Workload != nil && ro.Spec.WorkloadRef != nil {
		workload = fmt.Sprint(p.Observed.Workload.GetGeneration())
	}
	for what, holds := range map[string]bool{
		"the generation":                             to.ObservedGeneration == fmt.Sprint(ro.Generation),
		"the generation of the workload":             to.WorkloadObservedGeneration == workload && ro.Annotations[v1alpha1.WorkloadGenerationAnnotation] == workload,
		"all pods":                                   to.Replicas == all,
		"ready pods":                                 to.ReadyReplicas == ready,
		"available pods":                             to.AvailableReplicas == available || ro.Spec.RestartAt != nil, // which looks at the pods themselves
		"that it is completed":                       is[v1alpha1.ConditionCompleted] == settled,
		"that it is available":                       is[v1alpha1.ConditionAvailable] == (to.AvailableReplicas >= s.Replicas),
		"that it is paused":                          is[v1alpha1.ConditionPaused] == (ro.Spec.Paused || len(to.PauseConditions) > 0),
		"that it is healthy":                         is[v1alpha1.ConditionHealthy] || to.Phase != v1alpha1.RolloutPhaseHealthy || to.Message != "" || settled,
		"what people ask of an update, between them": !settled || !to.Abort && to.AbortedAt == nil && !to.PromoteFull && !to.ControllerPause && len(to.PauseConditions) == 0 && to.Canary.CurrentExperiment == "",
		"an abort, and a pause":                      !to.Abort || len(to.PauseConditions) == 0 && !to.ControllerPause && to.AbortedAt != nil,
		"that an abort is over":                      to.Abort || to.AbortedAt == nil,
		"the strategy":                               s.Strategy != nil && (len(stepsOf(s)) > 0) == (to.CurrentStepIndex != nil),
	} {
		if !holds {
			r.history.fail("status", "%s is not as observed, or contradicts itself: %+v", what, to)
		}
	}
}

func stepsOf(s spec.Rollout) []spec.Step {
	c, _ := s.Strategy.(spec.Canary)
	return c.Steps
}

// pure checks that equal observations give equal plans, in whatever order they come.
func (r *rules) pure(p sim.Pass) {
	if again := r.history.engine(p.Observed); !reflect.DeepEqual(again.Notes, p.Plan.Notes) || again.Writes() != p.Plan.Writes() {
		r.history.fail("purity", "the same observation gives another plan")
	}
	if !r.honest {
		return
	}
	o := p.Observed
	dice := rand.New(rand.NewPCG(r.history.Seed, uint64(r.passes)))
	shuffled(dice, &o.ReplicaSets)
	shuffled(dice, &o.Orphans)
	shuffled(dice, &o.Services)
	shuffled(dice, &o.AnalysisRuns)
	shuffled(dice, &o.Experiments)
	shuffled(dice, &o.ExperimentSets)
	shuffled(dice, &o.ExperimentServices)
	again := r.history.engine(o)
	again.Events, p.Plan.Events = nil, nil // those of a pass that was cut short are not told
	if !reflect.DeepEqual(again, p.Plan) {
		r.history.fail("purity", "the same observation in another order gives another plan: %+v, not %+v", again.Notes, p.Plan.Notes)
	}
}

func shuffled[T any](dice *rand.Rand, all *[]T) {
	*all = slices.Clone(*all)
	dice.Shuffle(len(*all), func(i, j int) { (*all)[i], (*all)[j] = (*all)[j], (*all)[i] })
}

// sleeps checks that a plan that writes nothing asks to be woken when there will be something to do, and not before: until then, it decides the
// same at any time, and at that time something else.
func (r *rules) sleeps(p sim.Pass) {
	o := p.Observed
	if p.Plan.Writes() || len(p.Plan.Calls) > 0 || o.Rollout.Spec.RestartAt != nil && !o.Rollout.Spec.RestartAt.Equal(o.Rollout.Status.RestartedAt) {
		return // pods that are restarted become available without the Rollout being told: it asks now and then
	}
	at := func(t time.Time) plan.Plan {
		o.Now = t
		return r.history.engine(o)
	}
	waits := []time.Duration{time.Second, time.Minute, time.Hour, 100 * 24 * time.Hour}
	if !p.Plan.Wake.IsZero() {
		d := p.Plan.Wake.Sub(o.Now)
		waits = []time.Duration{d / 2, d - 1}
		if d <= 0 {
			r.history.fail("wake", "a plan asks to be woken at %s, which is not in the future", p.Plan.Wake)
			return
		}
	}
	now := p.Observed.Now
	for _, d := range waits {
		if then := at(now.Add(d)); then.Writes() {
			r.history.fail("wake", "%s later there is something to do, %+v, and nobody is woken before %s", d, then.Notes, p.Plan.Wake)
			return
		}
	}
	if p.Plan.Wake.IsZero() {
		return
	}
	o.CreateFailure, o.RunFailures, o.ExperimentFailures = nil, nil, nil // it tries again
	o.ServicesLive, o.RoutesLive, o.RolloutLive, o.LiveExperiment, o.Pods = false, false, false, "", nil
	if then := at(p.Plan.Wake); !then.Writes() && len(then.Needs) == 0 && reflect.DeepEqual(then.Notes, p.Plan.Notes) {
		r.history.fail("wake", "at %s there is nothing to do: %+v", p.Plan.Wake, then.Notes)
	}
}
