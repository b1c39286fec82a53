package change

import (
	"encoding/json"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// StepKey tells what a step plugin is asked from all else that any is asked for a Rollout. An answer counts only where the status still stands
// where it stood when the plugin was asked.
type StepKey struct {
	// PodHash and StepHash are the update's.
	PodHash, StepHash string
	Index             int32
	Name              string
	Operation         v1alpha1.StepPluginOperation
	// Executions is how often the step has been run as far as the status knows, and Began when it was first, in seconds.
	Executions int32
	Began      int64
}

// StepCall is what a step plugin is to be asked. Until the status has the answer every plan has the call: the shell makes it once, and again if
// the answer was lost.
type StepCall struct {
	StepKey
	// Config is what the spec says to the plugin, Status what it answered to be given back. Both are JSON, empty for none.
	Config, Status json.RawMessage
}

// StepAnswer is what came of a call.
type StepAnswer struct {
	StepKey
	// Asked is when the plugin was.
	Asked time.Time
	// Disabled: the administrator has switched the plugin off, and it was not asked.
	Disabled bool
	// Error is why there is no answer, empty if there is one.
	Error string
	// Phase and Message are the plugin's words; RequeueAfter is when it wants to be asked again, and Status what it wants to be given then.
	Phase, Message string
	RequeueAfter   time.Duration
	Status         json.RawMessage
}
