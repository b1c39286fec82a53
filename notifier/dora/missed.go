package dora

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/notifier/past"
)

// apart is by how much the events of two updates differ in time. The event that an update has ended and the status are written in one reconcile, but
// not at the same moment.
const apart = 10 * time.Second

// Missed returns how updates ended after the one that was counted last and before the one that Next counts, by their events: those that ended while no
// notifier ran. Of these, no commit is known.
func Missed(r Record, rollout *unstructured.Unstructured, moments []past.Moment, since time.Time) (Record, []Outcome) {
	after := since
	if counted, err := time.Parse(time.RFC3339, r.Counted); err == nil && counted.Add(apart).After(since) {
		after = counted.Add(apart)
	}
	ended, _, _ := unstructured.NestedString(rollout.Object, "status", "duration", "finishedAt")
	last, err := time.Parse(time.RFC3339, ended)
	var all []Outcome
	for _, m := range moments {
		if !m.At.After(after) || err == nil && m.At.After(last.Add(-apart)) {
			continue
		}
		if result := ending(m); result != "" {
			all = append(all, Outcome{Result: result})
			r.Counted, after = m.At.UTC().Format(time.RFC3339), m.At.Add(apart)
		}
	}
	return r, all
}

// ending is how the update ended that an event is about, empty if it did not.
func ending(m past.Moment) Result {
	switch {
	case m.Event.Reason == v1alpha1.EventRolloutAborted:
		return Aborted
	case m.Event.Reason != v1alpha1.EventRolloutCompleted:
		return ""
	case strings.HasSuffix(m.Event.Message, ": Rollback within window"):
		return RolledBack
	}
	return Succeeded
}
