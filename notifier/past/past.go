// Package past says what a Rollout was like when events happened, as far as the events say. With it, a notifier that was down finds states that
// began and ended meanwhile.
//
// What must not be here: clients, clocks, sending.
package past

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Moment is an event that says something about the Rollout's status. Of an event that was repeated, the first and the last time are known.
type Moment struct {
	Event *corev1.Event
	// Count is the event's at that time, 1 for the first.
	Count int32
	At    time.Time
}

// order is that in which one reconcile, and so one second, has events.
var order = map[string]int{
	v1alpha1.EventRolloutUpdated: 1, v1alpha1.EventRolloutStepCompleted: 2, v1alpha1.EventRolloutResumed: 3, v1alpha1.EventRolloutPaused: 4,
	v1alpha1.EventInvalidSpec: 5, v1alpha1.EventRolloutAborted: 6, v1alpha1.EventRolloutCompleted: 7,
}

// Tells reports whether events with this reason say something about the status.
func Tells(reason string) bool { return order[reason] > 0 }

// most is how many moments of a Rollout are used. Each costs a copy of it, and anyone who may create events in its namespace may create thousands.
const most = 200

// Moments are the latest of a Rollout's events, in order; [most] of them.
func Moments(events []corev1.Event) []Moment {
	var all []Moment
	for i := range events {
		e := &events[i]
		if !Tells(e.Reason) {
			continue
		}
		if parts := Apart(e); len(parts) > 1 {
			for _, part := range parts {
				all = append(all, Moment{part, part.Count, first(e)})
			}
			continue
		}
		all = append(all, Moment{e, 1, first(e)})
		if e.Count > 1 {
			all = append(all, Moment{e, e.Count, e.LastTimestamp.Add(time.Second - 1)})
		}
	}
	slices.SortStableFunc(all, func(a, b Moment) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(order[a.Event.Reason], order[b.Event.Reason]))
	})
	return all[max(0, len(all)-most):]
}

// first is when an event happened first. Its time is a whole second, and its name ends in the nanosecond; later times, of which no more than the
// second is known, count as its end.
func first(e *corev1.Event) time.Time {
	second := cmp.Or(e.FirstTimestamp, e.LastTimestamp, e.CreationTimestamp).Time
	suffix := e.Name[strings.LastIndexByte(e.Name, '.')+1:]
	nanoseconds, err := strconv.ParseInt(suffix, 16, 64)
	if exact := time.Unix(0, nanoseconds); err == nil && exact.Truncate(time.Second).Equal(second) {
		return exact
	}
	return second
}

// States are what the Rollout was like after each of the moments. What events do not say is as it is now. Before the first event that says in
// which phase it was, the state is nil.
func States(rollout *unstructured.Unstructured, moments []Moment) []*unstructured.Unstructured {
	states := make([]*unstructured.Unstructured, len(moments))
	revision := ""
	for i, m := range moments {
		s := rollout.DeepCopy()
		if i > 0 && states[i-1] != nil {
			s.Object["status"] = runtime.DeepCopyJSONValue(states[i-1].Object["status"])
		} else if m.Event.Reason == v1alpha1.EventRolloutStepCompleted {
			continue
		}
		if found := updated.FindStringSubmatch(m.Event.Message); found != nil && m.Event.Reason == v1alpha1.EventRolloutUpdated {
			revision = found[1]
		}
		if revision != "" {
			annotations := s.GetAnnotations()
			if annotations == nil {
				annotations = map[string]string{}
			}
			annotations[v1alpha1.RevisionAnnotation] = revision
			s.SetAnnotations(annotations)
		}
		m.apply(s)
		states[i] = s
	}
	return states
}

var (
	updated = regexp.MustCompile(`^Rollout updated to revision (\d+)`)
	paused  = regexp.MustCompile(`^Rollout is paused \((.+)\)$`)
	step    = regexp.MustCompile(`^Rollout step (\d+)/\d+ completed`)
)

// manually is the reason of a pause that the spec asks for.
const manually = "spec.paused"

// apply changes a status to what it was after the event.
func (m Moment) apply(s *unstructured.Unstructured) {
	switch m.Event.Reason {
	case v1alpha1.EventRolloutStepCompleted:
		if found := step.FindStringSubmatch(m.Event.Message); found != nil {
			index, _ := strconv.ParseInt(found[1], 10, 64)
			set(s, index, "status", "currentStepIndex")
		}
	case v1alpha1.EventRolloutPaused:
		reason := ""
		if found := paused.FindStringSubmatch(m.Event.Message); found != nil {
			reason = found[1]
		}
		if reason == manually {
			m.phase(s, v1alpha1.RolloutPhasePaused, "manually paused")
			set(s, true, "spec", "paused")
			return
		}
		m.phase(s, v1alpha1.RolloutPhasePaused, reason)
		set(s, []any{map[string]any{"reason": reason, "startTime": m.At.UTC().Format(time.RFC3339)}}, "status", "pauseConditions")
	case v1alpha1.EventRolloutAborted:
		m.phase(s, v1alpha1.RolloutPhaseDegraded, fmt.Sprintf("%s: %s", m.Event.Reason, m.Event.Message))
		set(s, true, "status", "abort")
		set(s, m.At.UTC().Format(time.RFC3339), "status", "abortedAt")
	case v1alpha1.EventInvalidSpec:
		m.phase(s, v1alpha1.RolloutPhaseDegraded, fmt.Sprintf("%s: %s", m.Event.Reason, m.Event.Message))
	case v1alpha1.EventRolloutCompleted:
		m.phase(s, v1alpha1.RolloutPhaseHealthy, "")
	case v1alpha1.EventRolloutUpdated, v1alpha1.EventRolloutResumed:
		m.phase(s, v1alpha1.RolloutPhaseProgressing, "more replicas need to be updated")
	}
}

// phase sets the phase, and removes what belongs to others.
func (m Moment) phase(s *unstructured.Unstructured, phase v1alpha1.RolloutPhase, message string) {
	for _, field := range [][]string{{"status", "pauseConditions"}, {"status", "abort"}, {"status", "abortedAt"}, {"spec", "paused"}} {
		unstructured.RemoveNestedField(s.Object, field...)
	}
	set(s, string(phase), "status", "phase")
	set(s, message, "status", "message")
	conditions, _, _ := unstructured.NestedSlice(s.Object, "status", "conditions")
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		switch kind, _ := condition["type"].(string); v1alpha1.RolloutConditionType(kind) {
		case v1alpha1.ConditionPaused:
			condition["status"] = truth(phase == v1alpha1.RolloutPhasePaused)
		case v1alpha1.ConditionCompleted, v1alpha1.ConditionHealthy:
			condition["status"] = truth(phase == v1alpha1.RolloutPhaseHealthy)
		default:
		}
	}
	if len(conditions) > 0 {
		set(s, conditions, "status", "conditions")
	}
}

func truth(b bool) string {
	if b {
		return string(corev1.ConditionTrue)
	}
	return string(corev1.ConditionFalse)
}

// set writes a field. Where something else is in the way, which no Rollout has, it stays.
func set(s *unstructured.Unstructured, value any, fields ...string) {
	_ = unstructured.SetNestedField(s.Object, value, fields...)
}
