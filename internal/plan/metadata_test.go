package plan_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-delivery/sluice/internal/sim/script"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// relabelled is a settled rollout of n pods, at the moment when stableMetadata has changed and the ReplicaSet's template with it.
func relabelled(t *testing.T, n int32) plan.Observed {
	t.Helper()
	script := script.New()
	for _, line := range []string{
		fmt.Sprintf("rollout web replicas=%d stableMetadata=role=stable", n), "settle",
		"crash after 1 write", // so that it is not repaired within the same line
	} {
		if _, err := script.Run(line); err != nil {
			t.Fatal(err)
		}
	}
	w := script.World
	w.Edit(func(ro *v1alpha1.Rollout) { ro.Spec.Strategy.Canary.StableMetadata.Labels["role"] = "steady" })
	o := w.Observe(sim.View{})
	w.Apply(plan.Next(o), -1)
	o = w.Observe(sim.View{})
	o.ReplicaSets[0] = o.ReplicaSets[0].DeepCopy()
	o.ReplicaSets[0].Status.ObservedGeneration = o.ReplicaSets[0].Generation
	return o
}

func podsOf(rs *appsv1.ReplicaSet, n int, role string) []*corev1.Pod {
	var pods []*corev1.Pod
	for i := range n {
		pods = append(pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-%d", rs.Name, i), ResourceVersion: "7", Labels: map[string]string{"app": "web", "role": role},
		}})
	}
	return pods
}

func hashOf(rs *appsv1.ReplicaSet) string { return rs.Labels[v1alpha1.PodTemplateHashLabel] }

func TestPodsAreLookedAtOnlyWhenThatCanTell(t *testing.T) {
	o := relabelled(t, 2)
	if p := plan.Next(o); len(p.Needs) != 1 || p.Needs[0] != (change.NeedPods{Hash: hashOf(o.ReplicaSets[0])}) {
		t.Errorf("needs %v, want the pods of the ReplicaSet whose template has changed", p.Needs)
	}
	o.ReplicaSets[0].Status.ObservedGeneration--
	if p := plan.Next(o); len(p.Needs) > 0 || len(p.Label) > 0 {
		t.Errorf("needs %v before the ReplicaSet controller has seen the template, and may still make pods of the old one", p.Needs)
	}
}

// Labeling many pods must not delay other work, and must not be forgotten.
func TestC40ManyPodsAreLabelledSomeAtATime(t *testing.T) {
	o := relabelled(t, 250)
	rs := o.ReplicaSets[0]
	running := podsOf(rs, 250, "stable")
	for _, want := range []int{100, 100, 50, 0} {
		o.Pods = map[string][]*corev1.Pod{hashOf(rs): running}
		p := plan.Next(o)
		if len(p.Label) != want {
			t.Fatalf("%d pods are labelled in this pass, want %d", len(p.Label), want)
		}
		if settles := len(p.Grow) > 0; settles != (want == 0) {
			t.Errorf("the ReplicaSet is written: %t, with %d pods still to be labelled", settles, want)
		}
		if wake := p.Wake.Sub(o.Now); want > 0 && (wake <= 0 || wake > time.Second) {
			t.Errorf("another look in %s, want one within a second, and not at once", wake)
		}
		done := len(running) - remaining(running)
		for i, made := range p.Label {
			to := made.(change.UpdatePod).To
			if to.Labels["role"] != "steady" || to.Labels["app"] != "web" {
				t.Fatalf("labels of %s become %v", to.Name, to.Labels)
			}
			running[done+i] = to
		}
	}
}

// remaining is how many pods are not done.
func remaining(pods []*corev1.Pod) int {
	n := 0
	for _, pod := range pods {
		if pod.Labels["role"] != "steady" {
			n++
		}
	}
	return n
}

func TestPodsThatGoAreLeftAlone(t *testing.T) {
	o := relabelled(t, 2)
	rs := o.ReplicaSets[0]
	running := podsOf(rs, 1, "stable")
	running[0].DeletionTimestamp = &metav1.Time{Time: o.Now}
	o.Pods = map[string][]*corev1.Pod{hashOf(rs): running}
	if p := plan.Next(o); len(p.Label) > 0 {
		t.Error("a pod that is being deleted is labelled")
	}
}

// A pod that cannot be labeled holds nothing up, and one that goes anyway is no reason to wait either.
func TestPodsThatCannotBeLabeledHoldNothingUp(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*corev1.Pod)
		want   v1alpha1.RolloutPhase
	}{
		"the other can be labeled":       {func(*corev1.Pod) {}, v1alpha1.RolloutPhaseProgressing},
		"the other is being deleted":     {func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }, v1alpha1.RolloutPhaseHealthy},
		"the other has its labels today": {func(p *corev1.Pod) { p.Labels["role"] = "steady" }, v1alpha1.RolloutPhaseHealthy},
	} {
		o := relabelled(t, 2)
		rs := o.ReplicaSets[0]
		running := podsOf(rs, 2, "stable")
		row.change(running[1])
		o.Pods = map[string][]*corev1.Pod{hashOf(rs): running}
		o.PodRefusals = map[string]change.Refusal{running[0].Name: {Message: "labels are forbidden", At: o.Now}}
		is := o.Rollout.Status.Phase
		if p := plan.Next(o); p.Record != nil {
			is = p.Record.To.Status.Phase
		}
		if is != row.want {
			t.Errorf("%s: the Rollout is %s, want %s", name, is, row.want)
		}
	}
}

// A process that has just started knows of no refusal, and tries again. What the condition says holds nothing up until then, as before.
func TestRefusalsOfTheProcessBeforeHoldNothingUp(t *testing.T) {
	o := relabelled(t, 1)
	rs := o.ReplicaSets[0]
	running := podsOf(rs, 1, "stable")
	o.Pods = map[string][]*corev1.Pod{hashOf(rs): running}
	o.PodRefusals = map[string]change.Refusal{running[0].Name: {Message: "labels are forbidden", At: o.Now}}
	p := plan.Next(o)
	if p.Record == nil || p.Record.To.Status.Phase != v1alpha1.RolloutPhaseHealthy {
		t.Fatalf("the Rollout is not Healthy, and the test shows nothing: %v", p.Notes)
	}
	o.Rollout, o.PodRefusals = p.Record.To, nil
	if p = plan.Next(o); len(p.Label) != 1 {
		t.Errorf("%d pods are labelled, not one", len(p.Label))
	}
	if p.Record != nil && p.Record.To.Status.Phase != v1alpha1.RolloutPhaseHealthy {
		t.Errorf("the Rollout becomes %s", p.Record.To.Status.Phase)
	}
}

// A ReplicaSet that counts no pods yet may be making them, of the template that it has seen: they get the labels, too.
func TestPodsThatAreNotCountedYetAreLabelled(t *testing.T) {
	script := script.New()
	for _, line := range []string{"rollout web replicas=2 stableMetadata=role=stable", "settle"} {
		if _, err := script.Run(line); err != nil {
			t.Fatal(err)
		}
	}
	o := script.World.Observe(sim.View{})
	o.Rollout = o.Rollout.DeepCopy()
	o.Rollout.Spec.Strategy.Canary.StableMetadata.Labels["role"] = "steady"
	o.ReplicaSets[0] = o.ReplicaSets[0].DeepCopy()
	o.ReplicaSets[0].Status.Replicas, o.ReplicaSets[0].Status.ReadyReplicas, o.ReplicaSets[0].Status.AvailableReplicas = 0, 0, 0
	p := plan.Next(o)
	if len(p.Grow) != 1 {
		t.Fatalf("%d writes, want the ReplicaSet's", len(p.Grow))
	}
	if to := p.Grow[0].(change.UpdateReplicaSet).To; to.Spec.Template.Labels["role"] != "steady" || spec.EphemeralMetadataOf(to).Settled() {
		t.Errorf("the template says %v, and pods are taken to be labelled: %t", to.Spec.Template.Labels, spec.EphemeralMetadataOf(to).Settled())
	}
}

// A rollout that has come to rest is neither read nor written, whatever its pods carry.
func TestSettledMetadataCostsNothing(t *testing.T) {
	script := script.New()
	play := func(line string) {
		if _, err := script.Run(line); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	for _, line := range strings.Split(`rollout web replicas=3 steps="weight 50; pause" canaryMetadata="role=canary" stableMetadata="role=stable"
settle
set image v2
settle`, "\n") {
		play(line)
	}
	if script.World.Looks > 0 {
		t.Errorf("pods were listed %d times that came with their labels", script.World.Looks)
	}
	for _, line := range strings.Split(`promote
settle
set stableMetadata "role=steady @note=x"
settle`, "\n") {
		play(line)
	}
	if script.World.Looks == 0 {
		t.Fatal("pods were never looked at: the test shows nothing")
	}
	writes, looks := script.Writes(), script.World.Looks
	play(`annotate notified.notifications.argoproj.io=anything`) // has the controller look
	play("advance 24h")
	if got := script.Writes() - writes; got != 0 {
		t.Errorf("%d writes to a settled rollout", got)
	}
	if got := script.World.Looks - looks; got != 0 {
		t.Errorf("pods were listed %d times in a settled rollout", got)
	}
}

// In a blue-green rollout the preview's pods are told from the active ones', also while a Service is missing.
func TestBlueGreenMetadata(t *testing.T) {
	script := script.New()
	var out string
	for _, line := range []string{
		`rollout web replicas=1 blueGreen=active previewMetadata="role=preview" activeMetadata="role=active" antiAffinity=required`,
		"settle", "set image v2", "settle", "status",
	} {
		text, err := script.Run(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out += text
	}
	for _, want := range []string{
		"put role=active on pods of web-v1", "put role=preview on pods of web-v2", "1 carry role=active", "never beside v1",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("nothing about %q in\n%s", want, out)
		}
	}
}

// Someone has deleted all annotations of the new version's ReplicaSet: the revision is written again.
func TestDeletedAnnotationsComeBack(t *testing.T) {
	script := script.New()
	for _, line := range []string{"rollout web replicas=1", "settle"} {
		if _, err := script.Run(line); err != nil {
			t.Fatal(err)
		}
	}
	o := script.World.Observe(sim.View{})
	rs := o.ReplicaSets[0].DeepCopy()
	had := rs.Annotations
	rs.Annotations = nil
	o.ReplicaSets[0] = rs
	for _, c := range plan.Next(o).Grow {
		if u, ok := c.(change.UpdateReplicaSet); ok && u.To.Annotations[v1alpha1.RevisionAnnotation] == had[v1alpha1.RevisionAnnotation] {
			return
		}
	}
	t.Errorf("no change of the annotations to %v", had)
}
