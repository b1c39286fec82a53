package controller

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// A patch of the status holds what changed and what went, and nothing else, though all else is left out before it is made.
func TestAPatchOfTheStatusHoldsWhatChanged(t *testing.T) {
	began := metav1.NewTime(time.Unix(1, 0))
	was := v1alpha1.RolloutStatus{
		Phase: "Progressing", Replicas: 3, ReadyReplicas: 2, StableRS: "a", CurrentStepIndex: new(int32(1)),
		PauseConditions: []v1alpha1.PauseCondition{{Reason: v1alpha1.PauseReasonCanaryPauseStep, StartTime: began}},
	}
	is := *was.DeepCopy()
	is.ReadyReplicas, is.CurrentStepIndex, is.PauseConditions, is.PromoteFull = 0, new(int32(2)), nil, true
	ro := rolloutNamed("web")
	ro.ResourceVersion = "7"
	before, after := differing(was, is)
	patch, err := guarded(onlyStatus(ro, before)).Data(onlyStatus(ro, after))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"metadata":{"resourceVersion":"7"},"status":{"currentStepIndex":2,"pauseConditions":null,"promoteFull":true,"readyReplicas":null}}`
	if got := string(patch); got != want {
		t.Errorf("patch:\n%s\nwant:\n%s", got, want)
	}
	if was.Replicas != 3 || is.StableRS != "a" || before.Replicas != 0 {
		t.Error("the statuses themselves are changed, or what is the same is not left out")
	}
}

// Where all that happens to the status is that fields go, the others stay: the field itself must not be taken for one that goes.
func TestAPatchThatOnlyTakesAwayLeavesTheStatus(t *testing.T) {
	was := v1alpha1.RolloutStatus{Phase: "Degraded", StableRS: "a", Abort: true, UpdatedReplicas: 1}
	is := *was.DeepCopy()
	is.UpdatedReplicas = 0
	before, after := differing(was, is)
	ro := rolloutNamed("web")
	ro.ResourceVersion = "7"
	patch, err := guarded(onlyStatus(ro, before)).Data(onlyStatus(ro, after))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"metadata":{"resourceVersion":"7"},"status":{"updatedReplicas":null}}`
	if got := string(patch); got != want {
		t.Errorf("patch:\n%s\nwant:\n%s", got, want)
	}
}
