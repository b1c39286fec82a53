package past

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var begin = time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)

func event(reason, message string, count int32, first, last time.Duration) corev1.Event {
	return corev1.Event{
		Reason: reason, Message: message, Count: count,
		FirstTimestamp: metav1.NewTime(begin.Add(first)), LastTimestamp: metav1.NewTime(begin.Add(last)),
	}
}

// Within a second, events are in the order of the nanoseconds in their names, and repetitions come last.
func TestEventsOfOneSecond(t *testing.T) {
	var events []corev1.Event
	for i, reason := range []string{"RolloutPaused", "RolloutUpdated", "RolloutResumed"} {
		e := event(reason, reason, 1, 0, 0)
		e.Name = fmt.Sprintf("web.%x", begin.Add(time.Duration(i+1)*time.Millisecond).UnixNano())
		events = append(events, e)
	}
	events[0].Count = 2
	var got []string
	for _, m := range Moments(events) {
		got = append(got, m.Event.Reason)
	}
	if diff := cmp.Diff([]string{"RolloutPaused", "RolloutUpdated", "RolloutResumed", "RolloutPaused"}, got); diff != "" {
		t.Error(diff)
	}
}

// What a controller merged is taken apart. What only has a semicolon stays whole.
func TestMergedEvents(t *testing.T) {
	const steps = "Rollout step 1/3 completed (setWeight: 20); Rollout step 2/3 completed (setWeight: 60)"
	for name, c := range map[string]struct {
		message, kind string
		count         int32
		want          []string
	}{
		"two steps":                     {steps, "Normal", 2, []string{"1 Rollout step 1/3 completed (setWeight: 20)", "2 Rollout step 2/3 completed (setWeight: 60)"}},
		"two steps, one of them twice":  {steps, "Normal", 3, []string{"1 Rollout step 1/3 completed (setWeight: 20)", "2 Rollout step 2/3 completed (setWeight: 60)"}},
		"a text with a semicolon":       {steps, "Normal", 1, []string{"1 " + steps}},
		"one that was repeated":         {"Rollout is paused (a; b)", "Normal", 7, []string{"7 Rollout is paused (a; b)"}},
		"a warning, which never waited": {steps, "Warning", 2, []string{"2 " + steps}},
	} {
		t.Run(name, func(t *testing.T) {
			e := event("RolloutStepCompleted", c.message, c.count, 0, 0)
			e.Type = c.kind
			var got []string
			for _, part := range Apart(&e) {
				got = append(got, fmt.Sprint(part.Count, " ", part.Message))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if e.Message != c.message || e.Count != c.count {
				t.Errorf("the event itself was changed: %d %s", e.Count, e.Message)
			}
		})
	}
	merged := event("RolloutStepCompleted", steps, 2, 0, 0)
	merged.Type = corev1.EventTypeNormal
	paused := event("RolloutPaused", "Rollout is paused (CanaryPauseStep)", 1, 0, 0)
	var got []string
	for _, m := range Moments([]corev1.Event{paused, merged}) {
		got = append(got, m.Event.Message)
	}
	want := []string{"Rollout step 1/3 completed (setWeight: 20)", "Rollout step 2/3 completed (setWeight: 60)", "Rollout is paused (CanaryPauseStep)"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Thousands of events, forged or not, cost no more than the latest of them.
func TestThousandsOfEvents(t *testing.T) {
	var events []corev1.Event
	for i := range 5000 {
		at := time.Duration(i) * time.Second
		events = append(events, event("RolloutPaused", "Rollout is paused (x)", 2, at, at))
	}
	all := Moments(events)
	if len(all) != most || all[most-1].Event.FirstTimestamp.Sub(begin) != 4999*time.Second {
		t.Errorf("%d moments, the last at %s", len(all), all[len(all)-1].At)
	}
}

// An update that paused twice, was aborted, retried and completed, from what its events say.
func TestStates(t *testing.T) {
	events := []corev1.Event{
		event("RolloutCompleted", "Rollout completed update to revision 2 (x): done", 1, 9*time.Minute, 9*time.Minute),
		event("RolloutPaused", "Rollout is paused (CanaryPauseStep)", 2, time.Minute, 5*time.Minute),
		event("RolloutStepCompleted", "Rollout step 1/2 completed (setWeight: 20)", 1, time.Minute, time.Minute),
		event("RolloutResumed", "Rollout is resumed", 1, 2*time.Minute, 2*time.Minute),
		event("RolloutAborted", "Rollout aborted update to revision 2: x", 1, 3*time.Minute, 3*time.Minute),
		event("ScalingReplicaSet", "Scaled up", 1, 0, 0),
		event("RolloutUpdated", "Rollout updated to revision 2", 1, 0, 0),
		event("RolloutPaused", "Rollout is paused (spec.paused)", 1, 7*time.Minute, 7*time.Minute),
	}
	now := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "web", "annotations": map[string]any{"rollout.argoproj.io/revision": "3"}},
		"spec":     map[string]any{"replicas": int64(2)},
		"status": map[string]any{"phase": "Healthy", "currentStepIndex": int64(2), "conditions": []any{
			map[string]any{"type": "Paused", "status": "False"}, map[string]any{"type": "Completed", "status": "True"},
		}},
	}}
	before := now.DeepCopy()
	moments := Moments(events)
	var got []string
	for i, s := range States(now, moments) {
		status, _, _ := unstructured.NestedMap(s.Object, "status")
		conditions, _, _ := unstructured.NestedSlice(s.Object, "status", "conditions")
		paused, _, _ := unstructured.NestedBool(s.Object, "spec", "paused")
		got = append(got, fmt.Sprintf("%s %d: %v %v step %v paused=%v %v abort=%v %v revision %s", moments[i].At.Sub(begin).Truncate(time.Second), moments[i].Count, status["phase"],
			status["message"], status["currentStepIndex"], paused, status["pauseConditions"], status["abort"],
			conditions[0].(map[string]any)["status"], s.GetAnnotations()["rollout.argoproj.io/revision"]))
	}
	want := []string{
		"0s 1: Progressing more replicas need to be updated step 2 paused=false <nil> abort=<nil> False revision 2",
		"1m0s 1: Progressing more replicas need to be updated step 1 paused=false <nil> abort=<nil> False revision 2",
		"1m0s 1: Paused CanaryPauseStep step 1 paused=false [map[reason:CanaryPauseStep startTime:2026-11-23T10:01:00Z]] abort=<nil> True revision 2",
		"2m0s 1: Progressing more replicas need to be updated step 1 paused=false <nil> abort=<nil> False revision 2",
		"3m0s 1: Degraded RolloutAborted: Rollout aborted update to revision 2: x step 1 paused=false <nil> abort=true False revision 2",
		"5m0s 2: Paused CanaryPauseStep step 1 paused=false [map[reason:CanaryPauseStep startTime:2026-11-23T10:05:00Z]] abort=<nil> True revision 2",
		"7m0s 1: Paused manually paused step 1 paused=true <nil> abort=<nil> True revision 2",
		"9m0s 1: Healthy  step 1 paused=false <nil> abort=<nil> False revision 2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s := States(now, Moments(events[2:3])); s[0] != nil {
		t.Errorf("after a step alone the phase is not known, got %v", s[0])
	}
	if diff := cmp.Diff(before, now); diff != "" {
		t.Errorf("the Rollout itself was changed: %s", diff)
	}
}
