package facts

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// ExpectedAnnotation is on a Rollout: how long a step may take before it is late, such as 20m. What the step itself asks for, such as the
// duration of a pause, is added. Without it, the limit is progressDeadlineSeconds.
const ExpectedAnnotation = "rollouts.argoproj.io/expected-step-duration"

// standardDeadline is progressDeadlineSeconds where a Rollout has none.
const standardDeadline = 600 * time.Second

// period is how long something has lasted, as conditions and templates see it. Without a beginning it does not last.
func period(since, now time.Time, more map[string]any) map[string]any {
	all := map[string]any{"since": "", "seconds": int64(0)}
	if !since.IsZero() {
		all["since"], all["seconds"] = since.UTC().Format(time.RFC3339), max(0, int64(now.Sub(since)/time.Second))
	}
	maps.Copy(all, more)
	return all
}

// Waiting is the wait for a user: user is true while there is one, reason says what needs them.
func Waiting(rollout map[string]any, now time.Time) map[string]any {
	since, reason := held(rollout)
	return period(since, now, map[string]any{"user": !since.IsZero(), "reason": reason})
}

// held is since when, and why, only a user can continue the update.
func held(rollout map[string]any) (time.Time, string) {
	pauses := list(rollout, "status", "pauseConditions")
	reason, began := "", time.Time{}
	for _, p := range pauses {
		reason, began = text(p["reason"]), moment(p["startTime"])
	}
	if paused, _, _ := unstructured.NestedBool(rollout, "spec", "paused"); paused {
		reason = "spec.paused"
		if began.IsZero() {
			began = changed(rollout, v1alpha1.ConditionPaused)
		}
	}
	since := at(rollout, "status", "duration", "manualPauseStartedAt")
	if _, timed, _ := unstructured.NestedMap(rollout, "status", "duration"); timed || !needsUser(rollout, reason) {
		return since, reason
	}
	return began, reason // Argo Rollouts writes no duration
}

// needsUser reports whether a pause lasts until a user ends it.
func needsUser(rollout map[string]any, reason string) bool {
	switch v1alpha1.PauseReason(reason) {
	case "":
		return false
	case v1alpha1.PauseReasonCanaryPauseStep:
		step, _, _ := currentStep(rollout)
		pause, _ := step["pause"].(map[string]any)
		return pause["duration"] == nil
	case v1alpha1.PauseReasonBlueGreenPause:
		seconds, _, _ := unstructured.NestedFieldNoCopy(rollout, "spec", "strategy", "blueGreen", "autoPromotionSeconds")
		return seconds == nil
	default:
		return true
	}
}

// Degraded is for how long a Rollout has been degraded, and why.
func Degraded(rollout map[string]any, now time.Time) map[string]any {
	if phase, _, _ := unstructured.NestedString(rollout, "status", "phase"); phase != string(v1alpha1.RolloutPhaseDegraded) {
		return period(time.Time{}, now, map[string]any{"message": ""})
	}
	message, _, _ := unstructured.NestedString(rollout, "status", "message")
	since := at(rollout, "status", "abortedAt")
	if since.IsZero() {
		since = changed(rollout, v1alpha1.ConditionInvalidSpec)
	}
	if since.IsZero() {
		since = changed(rollout, v1alpha1.ConditionProgressing)
	}
	return period(since, now, map[string]any{"message": message})
}

// HealthySince is since when a Rollout has been healthy, zero if that is not known.
func HealthySince(rollout map[string]any) time.Time {
	return changed(rollout, v1alpha1.ConditionHealthy)
}

// Step is the step that an update is at: kind, index from 0, number from 1, count, for how long, how many seconds are expected, and whether it is
// late. A blue-green update, and a canary without steps, count as one step of the kind update. stepped is when the step before was completed, if that
// is known; runs are the AnalysisRuns of this version.
func Step(rollout map[string]any, runs []any, stepped, now time.Time) map[string]any {
	none := map[string]any{"kind": "", "index": int64(0), "number": int64(0), "count": int64(0), "expected": int64(0), "late": false}
	began := at(rollout, "status", "duration", "rolloutStartedAt")
	if began.IsZero() || !at(rollout, "status", "duration", "finishedAt").IsZero() {
		return period(time.Time{}, now, none)
	}
	step, index, count := currentStep(rollout)
	kind := kindOf(step)
	if count > 0 && stepped.After(began) {
		began = stepped
	}
	expected := limit(rollout) + pauseOf(step) + analysisOf(runs)
	since, _ := held(rollout)
	all := period(began, now, map[string]any{
		"kind": kind, "index": int64(index), "number": int64(min(index+1, count)), "count": int64(count),
		"expected": int64(expected / time.Second), "late": since.IsZero() && now.Sub(began) > expected,
	})
	return all
}

// currentStep is a canary's step, with its index and the number of steps. After the last one there is none.
func currentStep(rollout map[string]any) (step map[string]any, index, count int) {
	steps := list(rollout, "spec", "strategy", "canary", "steps")
	i, _, _ := unstructured.NestedInt64(rollout, "status", "currentStepIndex")
	index, count = int(i), len(steps)
	if index >= 0 && index < count {
		step = steps[index]
	}
	return step, index, count
}

func kindOf(step map[string]any) string {
	for _, key := range slices.Sorted(maps.Keys(step)) {
		return key
	}
	return "update"
}

// limit is how long a step may take besides what it asks for.
func limit(rollout map[string]any) time.Duration {
	expected, _, _ := unstructured.NestedString(rollout, "metadata", "annotations", ExpectedAnnotation)
	if d, err := time.ParseDuration(expected); err == nil && d > 0 {
		return d
	}
	seconds, found, _ := unstructured.NestedInt64(rollout, "spec", "progressDeadlineSeconds")
	if !found || seconds <= 0 {
		return standardDeadline
	}
	return time.Duration(min(seconds, 1<<31)) * time.Second
}

func pauseOf(step map[string]any) time.Duration {
	pause, _ := step["pause"].(map[string]any)
	return duration(pause["duration"])
}

// analysisOf is how long the AnalysisRuns that still run are expected to measure. What measures until it is stopped is not waited for.
func analysisOf(runs []any) time.Duration {
	var longest time.Duration
	for _, r := range runs {
		run, _ := r.(map[string]any)
		switch phase, _, _ := unstructured.NestedString(run, "status", "phase"); v1alpha1.AnalysisPhase(phase) {
		case "", v1alpha1.AnalysisPhasePending, v1alpha1.AnalysisPhaseRunning:
		default:
			continue
		}
		for _, metric := range list(run, "spec", "metrics") {
			count, err := strconv.ParseInt(fmt.Sprint(cmp.Or(metric["count"], any("1"))), 10, 32)
			if err != nil || count < 1 {
				continue
			}
			longest = max(longest, duration(metric["initialDelay"])+time.Duration(count-1)*duration(metric["interval"]))
		}
	}
	return longest
}

// duration is a number of seconds or a length of time such as 5m, and zero for anything else.
func duration(v any) time.Duration {
	written := fmt.Sprint(v)
	if seconds, err := strconv.ParseInt(written, 10, 32); err == nil {
		return max(0, time.Duration(seconds)*time.Second)
	}
	d, err := time.ParseDuration(written)
	const most = 1000 * time.Hour
	if err != nil {
		return 0
	}
	return min(max(0, d), most)
}

// changed is when a condition became what it is.
func changed(rollout map[string]any, kind v1alpha1.RolloutConditionType) time.Time {
	for _, c := range list(rollout, "status", "conditions") {
		if c["type"] == string(kind) {
			return moment(c["lastTransitionTime"])
		}
	}
	return time.Time{}
}

// at is the time in a field, zero if it has none.
func at(object map[string]any, fields ...string) time.Time {
	value, _, _ := unstructured.NestedString(object, fields...)
	return moment(value)
}

func moment(v any) time.Time {
	t, err := time.Parse(time.RFC3339, text(v))
	if err != nil {
		return time.Time{}
	}
	return t
}

// list are the objects in a field.
func list(object map[string]any, fields ...string) []map[string]any {
	field, _, _ := unstructured.NestedFieldNoCopy(object, fields...)
	elements, _ := field.([]any)
	var all []map[string]any
	for _, e := range elements {
		if o, ok := e.(map[string]any); ok {
			all = append(all, o)
		}
	}
	return all
}
