package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/clean"
)

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
			p := &pass{Observed: Observed{Rollout: &v1alpha1.Rollout{Status: c.was}}, was: &c.was, is: &c.is, annotations: map[string]string{}}
			p.record()
			if p.written == nil {
				t.Fatal("nothing is recorded")
			}
			if p.written.CanWait != c.waits {
				t.Errorf("CanWait is %t", p.written.CanWait)
			}
		})
	}
	p := &pass{
		Observed: Observed{Rollout: &v1alpha1.Rollout{}}, was: &v1alpha1.RolloutStatus{}, is: &v1alpha1.RolloutStatus{ReadyReplicas: 1},
		annotations: map[string]string{v1alpha1.RevisionAnnotation: "2"},
	}
	if p.record(); p.written.CanWait {
		t.Error("an annotation of the Rollout's own can wait")
	}
}

// What others wrote comes into the status escaped, and the same comes to the same the next time.
func TestStatusesSteerNoTerminal(t *testing.T) {
	const hostile = "pods \x1b[2J are forbidden\u202e"
	was, is := &v1alpha1.RolloutStatus{}, &v1alpha1.RolloutStatus{Message: hostile}
	p := &pass{Observed: Observed{Rollout: &v1alpha1.Rollout{}, Now: time.Unix(60, 0)}, was: was, is: is, annotations: map[string]string{}}
	p.setTrue(v1alpha1.ConditionReplicaFailure, "Forbidden", hostile)
	p.trouble = hostile
	p.setTrue(v1alpha1.ConditionProgressing, v1alpha1.ReasonReplicaSetUpdated, hostile)
	p.knowsPods = true
	p.tellTrouble()
	p.record()
	text := p.written.To.Status.Message
	for _, c := range p.written.To.Status.Conditions {
		text += "\n" + c.Message
	}
	if strings.ContainsFunc(text, clean.IsHidden) || strings.Count(text, `are forbidden\u202e`) != 4 {
		t.Errorf("the status says %q", text)
	}
	before := *is.DeepCopy()
	p.Now = p.Now.Add(time.Hour)
	p.setTrue(v1alpha1.ConditionReplicaFailure, "Forbidden", hostile)
	p.tellTrouble()
	if diff := cmp.Diff(before, *is); diff != "" {
		t.Errorf("an hour later it says another thing:\n%s", diff)
	}
}
