package facts

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// reasons are what the pauses that wait for a user are about.
var reasons = map[string]string{
	"CanaryPauseStep":         "a pause step",
	"BlueGreenPause":          "the pause before the switch",
	"InconclusiveAnalysisRun": "an inconclusive analysis",
	"InconclusiveExperiment":  "an inconclusive Experiment",
	"spec.paused":             "spec.paused",
}

// Explain says what a Rollout waits for, in the words of `sluice explain`; empty if for nothing. runs are the AnalysisRuns of its version.
func Explain(rollout map[string]any, runs []any) string {
	phase, _, _ := unstructured.NestedString(rollout, "status", "phase")
	message, _, _ := unstructured.NestedString(rollout, "status", "message")
	switch v1alpha1.RolloutPhase(phase) {
	case v1alpha1.RolloutPhaseDegraded:
		return sentence("It is degraded: ", message)
	case v1alpha1.RolloutPhasePaused:
		return paused(rollout) + place(rollout)
	case v1alpha1.RolloutPhaseProgressing:
		if waits := append(measuring(runs), pods(rollout)...); len(waits) > 0 {
			return "It waits for " + strings.Join(waits, " and ") + place(rollout)
		}
		return sentence("It is progressing: ", message)
	default:
		return ""
	}
}

func sentence(begin, message string) string {
	if message == "" {
		return ""
	}
	return begin + message
}

// paused says at what an update is paused, and what ends the pause.
func paused(rollout map[string]any) string {
	since, reason := held(rollout)
	for _, p := range list(rollout, "status", "pauseConditions") {
		reason = text(p["reason"])
		if since.IsZero() {
			return fmt.Sprintf("It waits at %s, since %s", cmp.Or(reasons[reason], reason), text(p["startTime"]))
		}
	}
	if since.IsZero() {
		return "It is paused"
	}
	return fmt.Sprintf("It waits for a user to promote it, at %s, since %s", cmp.Or(reasons[reason], reason), since.UTC().Format(time.RFC3339))
}

// place is the step, such as " (step 2 of 4: pause)".
func place(rollout map[string]any) string {
	step, index, count := currentStep(rollout)
	if step == nil {
		return ""
	}
	return fmt.Sprintf(" (step %d of %d: %s)", index+1, count, kindOf(step))
}

// measuring are the AnalysisRuns that still run.
func measuring(runs []any) []string {
	var all []string
	for _, r := range runs {
		run, _ := r.(map[string]any)
		phase, _, _ := unstructured.NestedString(run, "status", "phase")
		if v1alpha1.AnalysisPhase(phase) == v1alpha1.AnalysisPhaseRunning {
			name, _, _ := unstructured.NestedString(run, "metadata", "name")
			all = append(all, "the AnalysisRun "+name)
		}
	}
	return all
}

// pods says how many are missing.
func pods(rollout map[string]any) []string {
	desired, found, _ := unstructured.NestedInt64(rollout, "spec", "replicas")
	if !found {
		desired = 1
	}
	available, _, _ := unstructured.NestedInt64(rollout, "status", "availableReplicas")
	if available >= desired {
		return nil
	}
	return []string{fmt.Sprintf("pods: %d of %d available", available, desired)}
}
