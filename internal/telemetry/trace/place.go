package trace

import (
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/telemetry"
)

// Place is where a Rollout stands.
type Place struct {
	// Update is the one under way; the zero Update is none.
	Update Update
	// Step is the canary's step that is in force; the zero Step is none.
	Step Step
	// Wait is what is waited for.
	Wait string
}

// Update is one update of one Rollout. The same version tried again is another update.
type Update struct {
	UID  types.UID
	Hash string
	// Began is the second in which it began, in Unix time.
	Began int64
}

// Step is one step of a canary, as the status names it.
type Step struct {
	// Number counts from 1; 0 is not a step.
	Number int
	// Hash is that of the list of steps, which may change in the middle of an update.
	Hash string
}

// At is where a Rollout stands by its status.
func At(ro *v1alpha1.Rollout) Place {
	s := ro.Status
	if s.Duration == nil || s.Duration.RolloutStartedAt == nil || s.Duration.FinishedAt != nil {
		return Place{}
	}
	at := Place{
		Update: Update{UID: ro.UID, Hash: s.CurrentPodHash, Began: s.Duration.RolloutStartedAt.Unix()},
		Wait:   telemetry.WaitsFor(ro),
	}
	if c := ro.Spec.Strategy.Canary; c != nil && s.CurrentStepIndex != nil && int(*s.CurrentStepIndex) < len(c.Steps) {
		at.Step = Step{Number: int(*s.CurrentStepIndex) + 1, Hash: s.CurrentStepHash}
	}
	return at
}

// none reports whether no update is under way.
func (u Update) none() bool { return u == Update{} }

// began is when the update began, to the second.
func (u Update) began() time.Time { return time.Unix(u.Began, 0) }

// outcome is how an update ended that is not under way any more, by the Rollout as it is now.
func outcome(u Update, ro *v1alpha1.Rollout) v1alpha1.CompletionStatus {
	if d := ro.Status.Duration; d != nil && d.FinishedAt != nil && d.RolloutStartedAt != nil && d.RolloutStartedAt.Unix() == u.Began {
		return d.CompletionStatus
	}
	return v1alpha1.CompletionSuperseded
}

// stepSpan is what the span of a step is called, and what the step asks for.
func stepSpan(ro *v1alpha1.Rollout, s Step) (name, asks string) {
	text, err := json.Marshal(ro.Spec.Strategy.Canary.Steps[s.Number-1])
	if err != nil {
		return fmt.Sprintf("step %d", s.Number), err.Error()
	}
	var keys map[string]json.RawMessage
	name = fmt.Sprintf("step %d", s.Number)
	if err := json.Unmarshal(text, &keys); err == nil {
		for key := range keys { // exactly one is set
			name += ": " + key
		}
	}
	return name, string(text)
}
