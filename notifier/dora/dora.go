// Package dora works out the four keys of DORA from what a Rollout says: how often versions are deployed, how long a commit takes to get there, how
// many updates fail, and how long it takes to recover. What was counted is remembered in an annotation, so that no update is counted twice.
//
// What must not be here: clients, clocks, metrics.
package dora

import (
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/notifier/facts"
)

const (
	// Annotation is on a Rollout: its Record.
	Annotation = "rollouts.argoproj.io/delivery"
	// CommitTimeAnnotation is on a Rollout: when the commit that it deploys was made, in RFC 3339.
	CommitTimeAnnotation = "rollouts.argoproj.io/commit-time"
)

// Record is what is known of a Rollout's past. Times are in RFC 3339.
type Record struct {
	// Counted is when the latest update ended that was counted.
	Counted string `json:"counted,omitempty"`
	// Failing is since when the Rollout has been degraded, empty if it is not.
	Failing string `json:"failing,omitempty"`
	// Failed and Restored are when the latest failure that is over began and ended.
	Failed   string `json:"failed,omitempty"`
	Restored string `json:"restored,omitempty"`
}

// Parse reads the annotation. What is no record counts as none.
func Parse(text string) (r Record) {
	if json.Unmarshal([]byte(text), &r) != nil {
		return Record{}
	}
	return r
}

// String is the annotation's value.
func (r Record) String() string {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // four strings
	}
	return string(text)
}

// Variable is what conditions and templates know of a record.
func (r Record) Variable() map[string]any {
	return map[string]any{"failing": r.Failing, "failed": r.Failed, "restored": r.Restored}
}

// Result is how an update ended.
type Result string

// The ways in which an update ends. Aborted and RolledBack are failures of a change.
const (
	Succeeded  Result = "succeeded"
	Aborted    Result = "aborted"
	RolledBack Result = "rolledback"
)

// Outcome is what is to be counted.
type Outcome struct {
	// Result is empty if no update has ended.
	Result Result
	// Lead is the time from the commit, Recovery that from the failure; nil if there is none.
	Lead, Recovery *time.Duration
}

// Next returns a Rollout's record as it must be now, and what happened since the one before. What ended before since was never ours to count.
func Next(r Record, rollout *unstructured.Unstructured, since, now time.Time) (Record, Outcome) {
	var o Outcome
	ended, _, _ := unstructured.NestedString(rollout.Object, "status", "duration", "finishedAt")
	if at, err := time.Parse(time.RFC3339, ended); err == nil && ended != r.Counted && !at.Before(since) {
		r.Counted, o = ended, outcome(rollout, at)
	}
	phase, _, _ := unstructured.NestedString(rollout.Object, "status", "phase")
	switch v1alpha1.RolloutPhase(phase) {
	case v1alpha1.RolloutPhaseDegraded:
		if began, _ := facts.Degraded(rollout.Object, now)["since"].(string); r.Failing == "" {
			r.Failing = began
		}
	case v1alpha1.RolloutPhaseHealthy:
		if began, err := time.Parse(time.RFC3339, r.Failing); err == nil {
			healthy := facts.HealthySince(rollout.Object)
			if healthy.Before(began) {
				healthy = now
			}
			took := max(0, healthy.Sub(began))
			r.Failed, r.Restored, r.Failing, o.Recovery = r.Failing, healthy.UTC().Format(time.RFC3339), "", &took
		}
	default: // an update that is under way ends neither
	}
	return r, o
}

// outcome is that of an update which ended.
func outcome(rollout *unstructured.Unstructured, at time.Time) Outcome {
	how, _, _ := unstructured.NestedString(rollout.Object, "status", "duration", "completionStatus")
	switch {
	case how == string(v1alpha1.CompletionAborted):
		return Outcome{Result: Aborted}
	case facts.IsRollback(how):
		return Outcome{Result: RolledBack}
	}
	o := Outcome{Result: Succeeded}
	commit, err := time.Parse(time.RFC3339, rollout.GetAnnotations()[CommitTimeAnnotation])
	if lead := at.Sub(commit); err == nil && lead >= 0 {
		o.Lead = &lead
	}
	return o
}
