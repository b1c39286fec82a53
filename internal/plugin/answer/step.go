package answer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
)

const (
	// longestMessage, mostState and deepestState are how much of what a step plugin answers a status has room for.
	longestMessage, mostState, deepestState = 1024, 32 << 10, 50
	// mostStates is how much all steps of a Rollout may keep together: they are in one object.
	mostStates = 256 << 10
)

// Step is an answer that fits into the status that was recorded when the plugin was asked. Without an error, its state is JSON as an API server
// stores it.
func Step(a change.StepAnswer, recorded v1alpha1.RolloutStatus, call change.StepCall) change.StepAnswer {
	return fitting(bounded(a), recorded, call)
}

// bounded is an answer whose parts are short enough.
func bounded(a change.StepAnswer) change.StepAnswer {
	a.Error, a.Message, a.Phase = shortened(a.Error), shortened(a.Message), shortened(a.Phase)
	state, err := normal(a.Status)
	if a.Status = state; err != nil && a.Error == "" {
		a.Error = fmt.Sprintf("the plugin's status %s", err)
	}
	return a
}

// fitting is an answer whose state fits into the status together with those of other steps.
func fitting(a change.StepAnswer, recorded v1alpha1.RolloutStatus, call change.StepCall) change.StepAnswer {
	kept := 0
	for _, e := range recorded.Canary.StepPluginStatuses {
		if e.Index != call.Index || e.Operation != v1alpha1.StepPluginRun {
			kept += len(e.Status)
		}
	}
	if len(a.Status) > 0 && kept+len(a.Status) > mostStates && a.Error == "" {
		a.Error = fmt.Sprintf("the plugin's status has %d bytes, and those of the other steps %d: all together may have %d", len(a.Status), kept, mostStates)
	}
	if a.Error != "" {
		a.Status = nil
	}
	return a
}

func shortened(text string) string {
	if len(text) > longestMessage {
		text = text[:longestMessage] + "…"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// normal is JSON as an API server stores it, nil for none.
func normal(state json.RawMessage) (json.RawMessage, error) {
	var value any
	switch {
	case len(state) == 0:
		return nil, nil
	case len(state) > mostState:
		return nil, fmt.Errorf("has %d bytes, and may have %d", len(state), mostState)
	case !utf8.Valid(state):
		return nil, errors.New("is not UTF-8")
	}
	if err := utiljson.Unmarshal(state, &value); err != nil {
		return nil, fmt.Errorf("is not JSON: %w", err)
	}
	if value == nil {
		return nil, nil
	}
	if deeper(value, deepestState) {
		return nil, fmt.Errorf("is nested more than %d levels deep", deepestState)
	}
	out, err := json.Marshal(value)
	if err == nil && len(out) > mostState {
		return nil, fmt.Errorf("has %d bytes, and may have %d", len(out), mostState)
	}
	return out, err
}

// deeper reports whether JSON has more levels.
func deeper(value any, levels int) bool {
	if levels == 0 {
		return true
	}
	switch v := value.(type) {
	case map[string]any:
		for _, below := range v {
			if deeper(below, levels-1) {
				return true
			}
		}
	case []any:
		for _, below := range v {
			if deeper(below, levels-1) {
				return true
			}
		}
	}
	return false
}
