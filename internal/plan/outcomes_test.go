package plan_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/sim/script"
)

// The record that makes a version stable has no request in it that was about the update: it would be taken for one about the next.
func TestAPromotionLeavesNoRequests(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string
		asked func(s *v1alpha1.RolloutStatus)
	}{
		"a full promotion": {
			[]string{`rollout web replicas=2 steps="weight 100; pause"`, "settle", "set image v2", "settle"},
			func(s *v1alpha1.RolloutStatus) { s.PromoteFull = true },
		},
		"an abort of the first version": {
			[]string{"rollout web replicas=2", "settle"},
			func(s *v1alpha1.RolloutStatus) {
				*s = v1alpha1.RolloutStatus{Abort: true, PauseConditions: []v1alpha1.PauseCondition{{Reason: v1alpha1.PauseReasonCanaryPauseStep}}, ControllerPause: true}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := played(t, c.lines...)
			o.Rollout = o.Rollout.DeepCopy()
			c.asked(&o.Rollout.Status)
			p := plan.Next(o)
			if p.Record == nil || p.Record.To.Status.StableRS == o.Rollout.Status.StableRS {
				t.Fatalf("no version becomes stable: %v", p.Notes)
			}
			if s := p.Record.To.Status; s.Abort || s.AbortedAt != nil || s.PromoteFull || s.ControllerPause || len(s.PauseConditions) > 0 {
				t.Errorf("the stable version keeps requests: %+v", s)
			}
			if turn := p.Record.To.Status.Canary.StablePingPong; turn != "" {
				t.Errorf("without ping and pong, it is %s's turn", turn)
			}
		})
	}
}

// The status names the generation of the workload that was read. A Rollout that has a template of its own again names none.
func TestTheGenerationOfTheWorkload(t *testing.T) {
	o := played(t, "rollout web replicas=2 workloadRef=Deployment", "workload replicas=2", "settle")
	deployment := o.Workload.(*appsv1.Deployment).DeepCopy()
	deployment.Generation = 12
	o.Workload = deployment
	p := plan.Next(o)
	if p.Record == nil || p.Record.To.Status.WorkloadObservedGeneration != "12" || p.Record.To.Annotations[v1alpha1.WorkloadGenerationAnnotation] != "12" {
		t.Fatalf("generation 12 was read, and the record is %+v", p.Record)
	}
	o.Rollout, o.Workload = p.Record.To.DeepCopy(), nil
	o.Rollout.Spec.WorkloadRef, o.Rollout.Spec.Template, o.Rollout.Spec.Selector = nil, deployment.Spec.Template, deployment.Spec.Selector
	p = plan.Next(o)
	if p.Record == nil || p.Record.To.Status.WorkloadObservedGeneration != "" || p.Record.To.Annotations[v1alpha1.WorkloadGenerationAnnotation] != "" {
		t.Errorf("without a workload the record is %+v", p.Record)
	}
}

// An Experiment's analyses compare the two versions by the hashes that they are given.
func TestArgumentsOfAnExperiment(t *testing.T) {
	s := script.New()
	tell := func(line string) string {
		text, err := s.Run(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return text
	}
	tell(`rollout web replicas=1 template=smoke steps="experiment canary:canary check smoke; pause"`)
	tell("settle")
	s.World.Edit(func(ro *v1alpha1.Rollout) {
		ro.Spec.Strategy.Canary.Steps[0].Experiment.Analyses[0].Args = []v1alpha1.AnalysisRunArgument{
			{Name: "plain", Value: "1"},
			{Name: "old", ValueFrom: &v1alpha1.ArgumentValueFrom{PodTemplateHashValue: new(v1alpha1.ValueFromStable)}},
			{Name: "new", ValueFrom: &v1alpha1.ArgumentValueFrom{PodTemplateHashValue: new(v1alpha1.ValueFromLatest)}},
			{Name: "rollout", ValueFrom: &v1alpha1.ArgumentValueFrom{FieldRef: &v1alpha1.FieldRef{FieldPath: "metadata.name"}}},
		}
	})
	text := tell("set image v2")
	if len(s.World.Experiments()) != 1 {
		t.Fatalf("there is no Experiment:\n%s", text)
	}
	got := map[string]string{}
	for _, a := range s.World.Experiments()[0].Spec.Analyses[0].Args {
		got[a.Name] = *a.Value
	}
	status := s.World.Rollout().Status
	want := map[string]string{"plain": "1", "old": status.StableRS, "new": status.CurrentPodHash, "rollout": "web"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
}

// A step that failed aborts the update: its plugin is not asked again, nor anybody waited for.
func TestAStepThatFailedIsNotAskedAgain(t *testing.T) {
	o := played(t, `rollout web replicas=2 steps="plugin acme/gate with {'url':1}; pause"`, "settle", `plugin acme/gate Running "wait" again=45s`, "set image v2", "advance 25s")
	o.Now = o.Now.Add(time.Hour)
	p := plan.Next(o)
	if len(p.Calls) != 1 {
		t.Fatalf("there are %d calls, not one: %+v", len(p.Calls), p.Notes)
	}
	o.StepAnswers = []change.StepAnswer{{StepKey: p.Calls[0].StepKey, Asked: o.Now, Phase: string(v1alpha1.StepPluginFailed), Message: "no"}}
	p = plan.Next(o)
	const why = "Step Plugin 1 (acme/gate) failed: no"
	if p.Record == nil || !p.Record.To.Status.Abort || len(p.Calls) > 0 {
		t.Errorf("it is asked again, or not aborted: %+v %+v", p.Calls, p.Record)
	}
	if !slices.ContainsFunc(p.Notes, func(n change.Note) bool { return n.Topic == change.TopicWait && n.Reason == why }) {
		t.Errorf("no note says what happened to the step: %+v", p.Notes)
	}
}

// A Rollout is Healthy while exactly its pods are there and available.
func TestHealthyIsExact(t *testing.T) {
	const canary, blueGreen = "rollout web replicas=2", `rollout web replicas=2 services="web-active web-preview" blueGreen=web-active preview=web-preview`
	counts := func(all, available int32) func(*plan.Observed) {
		return func(o *plan.Observed) {
			s := &o.ReplicaSets[0].Status
			s.Replicas, s.ReadyReplicas, s.AvailableReplicas = all, available, available
		}
	}
	for name, c := range map[string]struct {
		rollout string
		change  func(*plan.Observed)
		healthy bool
	}{
		"all is well":                   {canary, counts(2, 2), true},
		"a pod too many":                {canary, counts(3, 2), false},
		"a pod is not available":        {canary, counts(2, 1), false},
		"blue-green":                    {blueGreen, counts(2, 2), true},
		"blue-green, a pod too many":    {blueGreen, counts(3, 2), false},
		"blue-green, one not available": {blueGreen, counts(2, 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			o := played(t, c.rollout, "settle")
			for i := range o.ReplicaSets {
				o.ReplicaSets[i] = o.ReplicaSets[i].DeepCopy()
			}
			c.change(&o)
			o.Rollout = o.Rollout.DeepCopy()
			o.Rollout.Status.Message = "so that there is a record"
			p := plan.Next(o)
			if p.Record == nil {
				t.Fatalf("there is no record: %v %v", p.Needs, p.Notes)
			}
			if healthy := conditionOf(p.Record.To, v1alpha1.ConditionHealthy).Status == corev1.ConditionTrue; healthy != c.healthy {
				t.Errorf("Healthy is %t: %v", healthy, p.Notes)
			}
		})
	}
}

func conditionOf(ro *v1alpha1.Rollout, kind v1alpha1.RolloutConditionType) v1alpha1.RolloutCondition {
	for _, c := range ro.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return v1alpha1.RolloutCondition{}
}

// While a restart has asked for a pod more and that is there, the Rollout is as healthy as before.
func TestThePodOfARestartIsNotOneTooMany(t *testing.T) {
	o := played(t, "rollout web replicas=2 maxSurge=1 maxUnavailable=0", "settle", "restart")
	set := o.ReplicaSets[0].DeepCopy()
	if *set.Spec.Replicas != 3 {
		t.Fatalf("it has %d pods, not one more than 2", *set.Spec.Replicas)
	}
	set.Status.Replicas, set.Status.ReadyReplicas, set.Status.AvailableReplicas, set.Status.ObservedGeneration = 3, 3, 3, set.Generation
	o.ReplicaSets[0] = set
	pods := podsOf(set, 3, "")
	for _, pod := range pods[:2] {
		pod.CreationTimestamp = metav1.NewTime(o.Now.Add(-time.Hour))
	}
	pods[2].CreationTimestamp = metav1.NewTime(o.Now.Add(time.Second))
	for _, pod := range pods {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: pod.CreationTimestamp}}
	}
	o.Pods = map[string][]*corev1.Pod{hashOf(set): pods}
	o.Now = o.Now.Add(10 * time.Second)
	p := plan.Next(o)
	if p.Record == nil {
		t.Fatalf("there is no record: %v %v", p.Needs, p.Notes)
	}
	if c := conditionOf(p.Record.To, v1alpha1.ConditionHealthy); c.Status != corev1.ConditionTrue {
		t.Errorf("Healthy is %s: %v", c.Status, p.Notes)
	}
}

// The deadline counts from the last progress, and each of these is some: nothing else has changed.
func TestWhatCountsAsProgress(t *testing.T) {
	for name, c := range map[string]struct {
		lines  []string
		change func(o *plan.Observed)
		moved  bool
	}{
		"nothing": {[]string{"rollout web replicas=2"}, func(*plan.Observed) {}, false},
		"a pod that was ready is available": {[]string{"rollout web replicas=2"}, func(o *plan.Observed) {
			s := &o.Rollout.Status
			s.Replicas, s.UpdatedReplicas, s.ReadyReplicas, s.HPAReplicas = 2, 2, 2, 2
			set := o.ReplicaSets[0].DeepCopy()
			set.Status.Replicas, set.Status.ReadyReplicas, set.Status.AvailableReplicas = 2, 2, 1
			o.ReplicaSets[0] = set
		}, true},
		"other steps": {[]string{`rollout web replicas=2 steps="weight 50; pause"`, "settle", "set image v2"}, func(o *plan.Observed) {
			o.Rollout.Spec.Strategy.Canary.Steps[0].SetWeight = new(int32(49))
		}, true},
		"an analysis came to another phase": {
			[]string{`rollout web replicas=2 template=smoke steps="analysis smoke; pause"`, "settle", "set image v2"},
			func(o *plan.Observed) {
				run := o.AnalysisRuns[0].DeepCopy()
				run.Status.Phase = v1alpha1.AnalysisPhaseRunning
				o.AnalysisRuns = []*v1alpha1.AnalysisRun{run}
			}, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := played(t, c.lines...)
			o.Rollout = o.Rollout.DeepCopy()
			c.change(&o)
			before := conditionOf(o.Rollout, v1alpha1.ConditionProgressing)
			o.Now = o.Now.Add(time.Minute)
			p := plan.Next(o)
			after := before
			if p.Record != nil {
				after = conditionOf(p.Record.To, v1alpha1.ConditionProgressing)
			}
			if moved := after.LastUpdateTime.After(before.LastUpdateTime.Time); moved != c.moved {
				t.Errorf("it counts as progress: %t; %+v, then %+v; %v", moved, before, after, p.Notes)
			}
		})
	}
}

// A wait of a step plugin that someone else wrote into the status and that is no duration is the usual one: the plugin is not asked in each pass.
func TestAWaitThatIsNone(t *testing.T) {
	o := played(t, `rollout web replicas=2 steps="plugin acme/gate with {'url':1}; pause"`, "settle", `plugin acme/gate Running "wait" again=45s`, "set image v2", "advance 25s")
	o.Rollout = o.Rollout.DeepCopy()
	run := &o.Rollout.Status.Canary.StepPluginStatuses[0]
	run.Backoff = "soon"
	if o.Now = run.UpdatedAt.Add(5 * time.Second); len(plan.Next(o).Calls) > 0 {
		t.Error("it is asked again after 5 seconds")
	}
	if o.Now = run.UpdatedAt.Add(time.Minute); len(plan.Next(o).Calls) != 1 {
		t.Error("it is not asked again after a minute")
	}
}

// With scaleDown: onsuccess, the Deployment keeps its pods until the Rollout was seen to be healthy.
func TestTheDeploymentStaysUntilTheRolloutWasHealthy(t *testing.T) {
	for phase, want := range map[v1alpha1.RolloutPhase]int{v1alpha1.RolloutPhaseProgressing: 0, v1alpha1.RolloutPhaseHealthy: 1} {
		o := played(t, "rollout web replicas=2 workloadRef=Deployment scaleDown=onsuccess", "workload replicas=2", "settle")
		deployment := o.Workload.(*appsv1.Deployment).DeepCopy()
		deployment.Spec.Replicas = new(int32(2))
		o.Workload, o.Rollout = deployment, o.Rollout.DeepCopy()
		o.Rollout.Status.Phase = phase
		if p := plan.Next(o); len(p.Shrink) != want {
			t.Errorf("%s: it is scaled %d times, want %d: %v", phase, len(p.Shrink), want, p.Notes)
		}
	}
}

// A plugin is given the settings of its own step, whatever the status says that it is.
func TestAPluginGetsNoOtherOnesSettings(t *testing.T) {
	o := played(t, `rollout web replicas=2 steps="plugin acme/gate with {'token':1}; pause"`, "settle", `plugin acme/gate Running "wait" again=45s`, "set image v2", "advance 25s")
	o.Rollout = o.Rollout.DeepCopy()
	o.Rollout.Status.Abort = true
	if p := plan.Next(o); len(p.Calls) != 1 || p.Calls[0].Operation != v1alpha1.StepPluginAbort {
		t.Fatalf("the abort does not ask the plugin, and the test shows nothing: %+v", p.Calls)
	}
	o.Rollout.Status.Canary.StepPluginStatuses[0].Name = "evil/listener"
	if p := plan.Next(o); len(p.Calls) > 0 {
		t.Errorf("another plugin is asked: %+v", p.Calls)
	}
	o.Rollout.Status.Canary.StepPluginStatuses[0].Name, o.Rollout.Status.Canary.StepPluginStatuses[0].Index = "acme/gate", 7
	if p := plan.Next(o); len(p.Calls) > 0 {
		t.Errorf("a step is carried out that there is not: %+v", p.Calls)
	}
}

// What a plugin answers to a question that is not asked any more changes nothing: it was to stop, and then the update was aborted.
func TestAnAnswerThatNobodyWaitsForIsPassedOver(t *testing.T) {
	o := played(t, `rollout web replicas=2 steps="plugin acme/gate with {'url':1}; pause"`, "settle", `plugin acme/gate Running "wait" again=45s`, "set image v2", "advance 25s")
	o.Rollout = o.Rollout.DeepCopy()
	o.Rollout.Status.Abort = true
	p := plan.Next(o)
	if len(p.Calls) != 1 {
		t.Fatalf("there are %d calls, not one", len(p.Calls))
	}
	answer := change.StepAnswer{StepKey: p.Calls[0].StepKey, Asked: o.Now, Phase: string(v1alpha1.StepPluginSuccessful)}
	for operation, want := range map[v1alpha1.StepPluginOperation]int{v1alpha1.StepPluginAbort: 2, v1alpha1.StepPluginTerminate: 1} {
		answer.Operation = operation
		o.StepAnswers = []change.StepAnswer{answer, answer} // the second one changes nothing
		if p := plan.Next(o); p.Record == nil || len(p.Record.To.Status.Canary.StepPluginStatuses) != want {
			t.Errorf("after an answer to %s the status has not %d entries: %+v", operation, want, p.Record)
		}
	}
}

// A step that has finished stays as it ended, whatever comes as another answer of its plugin.
func TestAStepThatHasFinishedHearsNoMore(t *testing.T) {
	o := played(t, `rollout web replicas=2 steps="plugin acme/gate with {'url':1}; pause"`, "settle", `plugin acme/gate Running "wait" again=45s`, "set image v2", "advance 25s")
	o.Now = o.Now.Add(time.Hour)
	p := plan.Next(o)
	if len(p.Calls) != 1 {
		t.Fatalf("there are %d calls, not one", len(p.Calls))
	}
	o.StepAnswers = []change.StepAnswer{{StepKey: p.Calls[0].StepKey, Asked: o.Now, Phase: string(v1alpha1.StepPluginFailed)}}
	is := o.Rollout
	for finished, aborts := range map[bool]bool{false: true, true: false} {
		o.Rollout = is.DeepCopy()
		if finished {
			run := &o.Rollout.Status.Canary.StepPluginStatuses[0]
			run.Phase, run.FinishedAt = v1alpha1.StepPluginSuccessful, new(metav1.NewTime(o.Now))
		}
		if p := plan.Next(o); p.Record == nil || p.Record.To.Status.Abort != aborts {
			t.Errorf("finished: %t; the update is not aborted as it should: %+v", finished, p.Record)
		}
	}
}

// While the new version cannot be created the Services go back to versions that there are, and not one that is another Rollout's.
func TestAServiceOfAnotherIsLeftAlone(t *testing.T) {
	o := played(t, `rollout web replicas=2 services="web-stable web-canary" stableService=web-stable canaryService=web-canary steps="weight 50; pause"`,
		"settle", "by hand", "set image v2")
	o.CreateFailure = &change.CreateFailure{Message: "no"}
	points := func() (names []string) {
		for _, c := range plan.Next(o).Route {
			names = append(names, c.(change.UpdateService).To.Name)
		}
		return names
	}
	for i, s := range o.Services {
		s = s.DeepCopy()
		delete(s.Spec.Selector, v1alpha1.PodTemplateHashLabel)
		o.Services[i] = s
	}
	if got := points(); !slices.Contains(got, "web-stable") {
		t.Fatalf("the Services that are pointed are %q: the test shows nothing", got)
	}
	for _, s := range o.Services {
		s.Annotations = map[string]string{v1alpha1.ManagedByAnnotation: "other"}
	}
	if got := points(); len(got) > 0 {
		t.Errorf("Services of another Rollout are pointed: %q", got)
	}
}

// Conditions that someone takes out of a status come back, whatever the update waits for.
func TestConditionsComeBack(t *testing.T) {
	o := played(t, `rollout web replicas=2 template=smoke steps="weight 50; analysis smoke"`, "settle", "set image v2", "advance 20s", "analysis step Running")
	o.Rollout = o.Rollout.DeepCopy()
	o.Rollout.Status.Conditions = nil
	p := plan.Next(o)
	if p.Record == nil || !slices.ContainsFunc(p.Record.To.Status.Conditions, func(c v1alpha1.RolloutCondition) bool {
		return c.Type == v1alpha1.ConditionProgressing && c.Reason == v1alpha1.ReasonReplicaSetUpdated
	}) {
		t.Errorf("the status says nothing of progress: %+v", p.Record)
	}
}

// The version that the active Service selects while another update goes on keeps no deadline that someone gave it, in a pause for a person either.
func TestWhatServesHasNoDeadline(t *testing.T) {
	const rollout = "rollout web replicas=2 services=web-active blueGreen=web-active template=load pre=load post=load"
	begun := []string{rollout, "settle", "set image v2", "advance 30s", "analysis pre Successful", "advance 30s", "set image v3"}
	for name, lines := range map[string][]string{
		"begun":        begun,
		"for a person": append(slices.Clone(begun), "advance 30s", "analysis pre Inconclusive"),
	} {
		o := played(t, lines...)
		serves, status := "", o.Rollout.Status
		for i, rs := range o.ReplicaSets {
			hash := hashOf(rs)
			if hash != o.Services[0].Spec.Selector[v1alpha1.PodTemplateHashLabel] || hash == status.StableRS || hash == status.CurrentPodHash {
				continue
			}
			serves = rs.Name
			o.ReplicaSets[i] = rs.DeepCopy()
			world.SetKey(&o.ReplicaSets[i].Annotations, v1alpha1.ScaleDownDeadlineAnnotation, o.Now.Add(time.Hour).UTC().Format(time.RFC3339))
		}
		if serves == "" {
			t.Fatalf("%s: what serves is part of the update: the test shows nothing", name)
		}
		if !slices.ContainsFunc(plan.Next(o).Grow, func(c change.Change) bool {
			u, ok := c.(change.UpdateReplicaSet)
			return ok && u.To.Name == serves && u.To.Annotations[v1alpha1.ScaleDownDeadlineAnnotation] == ""
		}) {
			t.Errorf("%s: %s keeps a deadline, although it serves", name, serves)
		}
	}
}

// Old versions lose their pods although no other version serves, if none is to: blue-green keeps them otherwise, where its stable version is gone.
func TestOldVersionsGoWhereNobodyIsToServe(t *testing.T) {
	const rollout = `rollout web replicas=1 services="web-active web-preview" blueGreen=web-active preview=web-preview autoPromotion=false scaleDownDelay=0`
	for scale, want := range map[string]int32{"scale 1": 2, "scale 0": 0} {
		o := played(t, rollout, "settle", "set image v2", "settle", "delete replicaset v1", "break v3", scale, "set image v3", "settle")
		var pods int32
		for _, rs := range o.ReplicaSets {
			pods += *rs.Spec.Replicas
		}
		if pods != want {
			t.Errorf("%s: %d pods, want %d", scale, pods, want)
		}
	}
}

// A step with a number of pods ends when the stable version has all of its pods, and none that are still to go.
func TestAStepAwaitsTheStableVersion(t *testing.T) {
	o := ready(played(t, `rollout web replicas=4 router=gateway steps="scale 1; pause"`, "settle", "set image v2"))
	done := func() bool {
		return slices.ContainsFunc(plan.Next(o).Notes, func(n change.Note) bool {
			return n.Topic == change.TopicStep && strings.HasPrefix(n.Text, "step 1 of 2 is done")
		})
	}
	if !done() {
		t.Fatal("the step does not end: the test shows nothing")
	}
	for _, rs := range o.ReplicaSets {
		if hashOf(rs) == o.Rollout.Status.StableRS {
			rs.Status.Replicas++
		}
	}
	if done() {
		t.Error("the step ends while a pod of the stable version is still to go")
	}
}

// A Rollout adopts the ReplicaSets without a controller whose pods its selector matches, and no others: neither other people's, nor an Experiment's, nor
// one that goes.
func TestWhatIsAdopted(t *testing.T) {
	o := played(t, "rollout web replicas=2", "settle")
	o.RolloutLive = true
	orphan := func(name string, change func(*appsv1.ReplicaSet)) *appsv1.ReplicaSet {
		rs := o.ReplicaSets[0].DeepCopy()
		rs.Name, rs.OwnerReferences = name, nil
		change(rs)
		return rs
	}
	o.Orphans = []*appsv1.ReplicaSet{
		orphan("ours", func(*appsv1.ReplicaSet) {}),
		orphan("others", func(rs *appsv1.ReplicaSet) {
			rs.Labels = map[string]string{"app": "other", v1alpha1.PodTemplateHashLabel: "x"}
		}),
		orphan("experiment", func(rs *appsv1.ReplicaSet) {
			rs.Annotations = map[string]string{v1alpha1.ExperimentNameAnnotation: "demo"}
		}),
		orphan("gone", func(rs *appsv1.ReplicaSet) { rs.DeletionTimestamp = &metav1.Time{Time: o.Now} }),
	}
	var adopted []string
	for _, c := range plan.Next(o).Grow {
		if u, ok := c.(change.UpdateReplicaSet); ok && metav1.IsControlledBy(u.To, o.Rollout) && !metav1.IsControlledBy(u.From, o.Rollout) {
			adopted = append(adopted, u.To.Name)
		}
	}
	if !slices.Equal(adopted, []string{"ours"}) {
		t.Errorf("%q are adopted", adopted)
	}
}
