package dora

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/notifier/past"
)

// state is what a Rollout says at a minute of the test.
type state struct {
	minute         int
	phase, how     string
	ended, aborted int
	commit         string
	want           string
}

var begun = time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)

func minute(n int) string { return begun.Add(time.Duration(n) * time.Minute).Format(time.RFC3339) }

func (s state) rollout(r Record) *unstructured.Unstructured {
	status := map[string]any{"phase": s.phase}
	if s.how != "" {
		status["duration"] = map[string]any{"finishedAt": minute(s.ended), "completionStatus": s.how}
	}
	if s.aborted != 0 {
		status["abortedAt"] = minute(s.aborted)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{Annotation: r.String(), CommitTimeAnnotation: s.commit}}, "status": status,
	}}
}

func (o Outcome) text() string {
	text := string(o.Result)
	if o.Lead != nil {
		text += fmt.Sprint(" lead ", *o.Lead)
	}
	if o.Recovery != nil {
		text += fmt.Sprint(" recovery ", *o.Recovery)
	}
	return text
}

// What is counted of a Rollout's states, one after the other. Each is seen twice, and counted once.
func TestNext(t *testing.T) {
	for name, states := range map[string][]state{
		"an update, with its commit": {
			{minute: 1, phase: "Progressing", want: ""},
			{minute: 5, phase: "Healthy", how: "Promoted", ended: 5, commit: minute(-55), want: "succeeded lead 1h0m0s"},
			{minute: 9, phase: "Progressing", want: ""},
			{minute: 12, phase: "Healthy", how: "FastPromoted", ended: 11, want: "succeeded"},
		},
		"an abort, and the next version": {
			{minute: 2, phase: "Degraded", how: "Aborted", ended: 2, aborted: 2, want: "aborted"},
			{minute: 10, phase: "Progressing", want: ""},
			{minute: 14, phase: "Healthy", how: "Promoted", ended: 14, want: "succeeded recovery 12m0s"},
		},
		"a rollback": {
			{minute: 2, phase: "Healthy", how: "Promoted", ended: 2, want: "succeeded"},
			{minute: 8, phase: "Healthy", how: "FastRolledBack", ended: 8, want: "rolledback"},
		},
		"a commit of the future, and one that is none": {
			{minute: 2, phase: "Healthy", how: "Promoted", ended: 2, commit: minute(3), want: "succeeded"},
			{minute: 4, phase: "Healthy", how: "Promoted", ended: 4, commit: "yesterday", want: "succeeded"},
		},
		"what ended before notifications began": {
			{minute: 1, phase: "Healthy", how: "Promoted", ended: -30, want: ""},
			{minute: 5, phase: "Healthy", how: "Promoted", ended: 5, want: "succeeded"},
		},
		"by another controller, which writes no duration": {{minute: 1, phase: "Healthy", want: ""}},
	} {
		t.Run(name, func(t *testing.T) {
			var r Record
			var want, got []string
			for _, s := range states {
				for range 2 {
					var o Outcome
					r = Parse(r.String())
					r, o = Next(r, s.rollout(r), begun, begun.Add(time.Duration(s.minute)*time.Minute))
					got = append(got, o.text())
				}
				want = append(want, s.want, "")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Updates that ended while no notifier ran are counted by their events, and not twice: neither those that were counted before, nor the last one, which
// the status shows, nor any after another restart.
func TestUpdatesThatEndedMeanwhile(t *testing.T) {
	happened := func(reason, message string, at time.Duration) past.Moment {
		return past.Moment{Event: &corev1.Event{Reason: reason, Message: message}, Count: 1, At: begun.Add(at)}
	}
	moments := []past.Moment{
		happened("RolloutCompleted", "Rollout completed update to revision 1 (a): Initial deploy", -time.Minute),
		happened("RolloutCompleted", "Rollout completed update to revision 2 (b): Completed all 2 canary steps", time.Minute+time.Second),
		happened("RolloutPaused", "Rollout is paused (CanaryPauseStep)", 2*time.Minute),
		happened("RolloutAborted", "Rollout aborted update to revision 3: x", 3*time.Minute),
		happened("RolloutCompleted", "Rollout completed update to revision 3 (c): Completed all 2 canary steps", 4*time.Minute),
		happened("RolloutCompleted", "Rollout completed update to revision 4 (b): Rollback within window", 5*time.Minute),
		happened("RolloutCompleted", "Rollout completed update to revision 5 (d): Completed all 2 canary steps", 6*time.Minute+2*time.Second),
	}
	for name, c := range map[string]struct {
		now  state
		want []string
	}{
		"before one that ended":         {state{phase: "Healthy", how: "Promoted", ended: 6}, []string{"aborted", "succeeded", "rolledback", "succeeded"}},
		"before one that is under way":  {state{phase: "Progressing"}, []string{"aborted", "succeeded", "rolledback", "succeeded", ""}},
		"none, since that was the last": {state{phase: "Healthy", how: "Promoted", ended: 1}, []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			r := Record{Counted: minute(1)}
			for _, want := range [][]string{c.want, {""}} {
				var got []string
				rollout := c.now.rollout(r)
				now, missed := Missed(r, rollout, moments, begun)
				now, last := Next(now, rollout, begun, begun.Add(time.Hour))
				for _, o := range append(missed, last) {
					got = append(got, o.text())
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
				r = Parse(now.String())
			}
		})
	}
}

// What someone wrote into the annotation is no reason to count wrongly, or to stop.
func TestRecordsThatAreNone(t *testing.T) {
	for _, text := range []string{"", "null", "[]", "{", `{"failing": 7}`} {
		if r := Parse(text); r != (Record{}) {
			t.Errorf("%q: %v", text, r)
		}
	}
	r, o := Next(Record{Failing: "never"}, state{phase: "Healthy"}.rollout(Record{}), begun, begun)
	if o.Recovery != nil || r.Restored != "" {
		t.Errorf("%v, %v", r, o)
	}
}
