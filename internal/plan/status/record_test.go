package status

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/clean"
	"github.com/sluice-delivery/sluice/internal/plan/judge"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// between is the end of a pass that found one status and comes to another.
func between(was, is *v1alpha1.RolloutStatus) *Status {
	w := world.New(world.Observed{Rollout: &v1alpha1.Rollout{Status: *was}, Now: time.Unix(60, 0)}, spec.Rollout{})
	j := &change.Journal{}
	u := progress.New(w, j)
	u.Is = is
	return New(w, u, nil, nil, nil, judge.New(w, u, nil, j), j)
}

// What only counts pods may be written late; what says where the update is may not.
func TestOnlyCountsCanWait(t *testing.T) {
	moved := metav1.NewTime(time.Unix(60, 0))
	progressing := func(status, reason string) []v1alpha1.RolloutCondition {
		return []v1alpha1.RolloutCondition{{Type: v1alpha1.ConditionProgressing, Status: corev1.ConditionStatus(status), Reason: reason, LastUpdateTime: moved}}
	}
	for name, c := range map[string]struct {
		was, is v1alpha1.RolloutStatus
		waits   bool
	}{
		"another pod is ready":         {is: v1alpha1.RolloutStatus{ReadyReplicas: 1, Message: "more replicas need to be updated"}, waits: true},
		"progress is noted":            {was: v1alpha1.RolloutStatus{Conditions: progressing("True", "NewReplicaSetCreated")}, is: v1alpha1.RolloutStatus{Conditions: progressing("True", "ReplicaSetUpdated")}, waits: true},
		"it moves again after a pause": {was: v1alpha1.RolloutStatus{Conditions: progressing("Unknown", "RolloutResumed")}, is: v1alpha1.RolloutStatus{Conditions: progressing("True", "ReplicaSetUpdated")}, waits: true},
		"the deadline has passed":      {was: v1alpha1.RolloutStatus{Conditions: progressing("True", "ReplicaSetUpdated")}, is: v1alpha1.RolloutStatus{Conditions: progressing("False", "ProgressDeadlineExceeded")}},
		"the next step":                {is: v1alpha1.RolloutStatus{ReadyReplicas: 1, CurrentStepIndex: new(int32(1))}},
		"another phase":                {is: v1alpha1.RolloutStatus{ReadyReplicas: 1, Phase: v1alpha1.RolloutPhaseHealthy}},
		"an abort":                     {is: v1alpha1.RolloutStatus{Abort: true}},
		"a new spec was seen":          {is: v1alpha1.RolloutStatus{ObservedGeneration: "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := between(&c.was, &c.is)
			p.Record()
			if p.Written == nil {
				t.Fatal("nothing is recorded")
			}
			if p.Written.CanWait != c.waits {
				t.Errorf("CanWait is %t", p.Written.CanWait)
			}
		})
	}
	p := between(&v1alpha1.RolloutStatus{}, &v1alpha1.RolloutStatus{ReadyReplicas: 1})
	p.update.Annotations[v1alpha1.RevisionAnnotation] = "2"
	if p.Record(); p.Written.CanWait {
		t.Error("an annotation of the Rollout's own can wait")
	}
}

// The transition time of a condition is when its status changed, not its reason.
func TestTransitionsAreOfTheStatus(t *testing.T) {
	then := metav1.NewTime(time.Unix(30, 0))
	const kind = v1alpha1.ConditionProgressing
	for status, moves := range map[corev1.ConditionStatus]bool{corev1.ConditionTrue: false, corev1.ConditionFalse: true} {
		is := &v1alpha1.RolloutStatus{Conditions: []v1alpha1.RolloutCondition{{
			Type: kind, Status: corev1.ConditionTrue, Reason: v1alpha1.ReasonReplicaSetUpdated, LastUpdateTime: then, LastTransitionTime: then,
		}}}
		between(&v1alpha1.RolloutStatus{}, is).update.Set(kind, status, v1alpha1.ReasonFoundNewReplicaSet, "found")
		if c := is.Conditions[0]; c.LastTransitionTime.Equal(&then) == moves || c.LastUpdateTime.Equal(&then) {
			t.Errorf("True, then %s: %+v", status, c)
		}
	}
}

// What others wrote comes into the status escaped, and the same comes to the same the next time.
func TestStatusesSteerNoTerminal(t *testing.T) {
	const hostile = "pods \x1b[2J are forbidden\u202e"
	was, is := &v1alpha1.RolloutStatus{}, &v1alpha1.RolloutStatus{Message: hostile}
	p := between(was, is)
	p.update.SetTrue(v1alpha1.ConditionReplicaFailure, "Forbidden", hostile)
	p.trouble = hostile
	p.update.SetTrue(v1alpha1.ConditionProgressing, v1alpha1.ReasonReplicaSetUpdated, hostile)
	p.knowsPods = true
	p.tellTrouble()
	p.Record()
	text := p.Written.To.Status.Message
	for _, c := range p.Written.To.Status.Conditions {
		text += "\n" + c.Message
	}
	if strings.ContainsFunc(text, clean.IsHidden) || strings.Count(text, `are forbidden\u202e`) != 4 {
		t.Errorf("the status says %q", text)
	}
	before := *is.DeepCopy()
	p.world.Now = p.world.Now.Add(time.Hour)
	p.update.SetTrue(v1alpha1.ConditionReplicaFailure, "Forbidden", hostile)
	p.tellTrouble()
	if diff := cmp.Diff(before, *is); diff != "" {
		t.Errorf("an hour later it says another thing:\n%s", diff)
	}
}

// What keeps pods from being created is repeated as long as the ReplicaSet controller says so, the new version's first.
func TestReplicaFailure(t *testing.T) {
	set := func(name string, status corev1.ConditionStatus, kind appsv1.ReplicaSetConditionType) *appsv1.ReplicaSet {
		rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1alpha1.PodTemplateHashLabel: name}}}
		rs.Status.Conditions = []appsv1.ReplicaSetCondition{{Type: kind, Status: status, Reason: "FailedCreate", Message: "quota of " + name}}
		return rs
	}
	const failure = appsv1.ReplicaSetReplicaFailure
	for name, row := range map[string]struct {
		sets []*appsv1.ReplicaSet
		want string
	}{
		"none":             {},
		"an old version":   {[]*appsv1.ReplicaSet{set("old", corev1.ConditionTrue, failure)}, "quota of old"},
		"both":             {[]*appsv1.ReplicaSet{set("old", corev1.ConditionTrue, failure), set("new", corev1.ConditionTrue, failure)}, "quota of new"},
		"no more":          {[]*appsv1.ReplicaSet{set("new", corev1.ConditionFalse, failure)}, ""},
		"no more, but one": {[]*appsv1.ReplicaSet{set("new", corev1.ConditionFalse, failure), set("old", corev1.ConditionTrue, failure)}, "quota of old"},
		"another":          {[]*appsv1.ReplicaSet{set("new", corev1.ConditionTrue, "Odd")}, ""},
	} {
		is := &v1alpha1.RolloutStatus{Conditions: []v1alpha1.RolloutCondition{{Type: v1alpha1.ConditionReplicaFailure, Status: corev1.ConditionTrue, Message: "of before"}}}
		p := between(is.DeepCopy(), is)
		p.world = world.New(world.Observed{Rollout: &v1alpha1.Rollout{}, ReplicaSets: row.sets}, spec.Rollout{PodHash: "new"})
		p.setReplicaFailure()
		if got := p.update.Condition(v1alpha1.ConditionReplicaFailure).Message; got != row.want {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}
