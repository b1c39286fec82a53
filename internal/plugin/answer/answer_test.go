package answer

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
)

// What a status has no room for is an error that says so, and the state that was recorded stays.
func TestStates(t *testing.T) {
	large := json.RawMessage(`"` + strings.Repeat("x", 30<<10) + `"`)
	var many v1alpha1.RolloutStatus
	for i := range int32(8) {
		many.Canary.StepPluginStatuses = append(many.Canary.StepPluginStatuses, v1alpha1.StepPluginStatus{Index: i, Operation: v1alpha1.StepPluginRun, Status: large})
	}
	for name, c := range map[string]struct {
		state    json.RawMessage
		recorded v1alpha1.RolloutStatus
		step     int32
		want     json.RawMessage
		problem  string
	}{
		"none":                            {},
		"null":                            {state: json.RawMessage("null")},
		"in the form of the API server":   {state: json.RawMessage(` {"b": 1.0, "a":[ ] }`), want: json.RawMessage(`{"a":[],"b":1}`)},
		"not JSON":                        {state: json.RawMessage("{"), problem: "the plugin's status is not JSON"},
		"no text":                         {state: json.RawMessage("\"\xff\""), problem: "is not UTF-8"},
		"too long":                        {state: json.RawMessage(`"` + strings.Repeat("x", 32<<10) + `"`), problem: "has 32770 bytes, and may have 32768"},
		"longer as the API server has it": {state: json.RawMessage(`"` + strings.Repeat("<", 6<<10) + `"`), problem: "has 36866 bytes, and may have 32768"},
		"too deep":                        {state: json.RawMessage(strings.Repeat("[", 60) + strings.Repeat("]", 60)), problem: "is nested more than 50 levels deep"},
		"one of many steps":               {state: large, recorded: many, step: 8, problem: "has 30722 bytes, and those of the other steps 245776: all together may have 262144"},
		"the same step again":             {state: large, recorded: many, step: 3, want: large},
	} {
		t.Run(name, func(t *testing.T) {
			got := Step(change.StepAnswer{Phase: "Running", Status: c.state}, c.recorded, change.StepCall{StepKey: change.StepKey{Index: c.step}})
			if !cmp.Equal(got.Status, c.want) || !strings.Contains(got.Error, c.problem) || (got.Error == "") != (c.problem == "") {
				t.Errorf("the state is %.80s with the error %q, want %.80s with %q", got.Status, got.Error, c.want, c.problem)
			}
		})
	}
}

// FuzzStep has a step plugin answer anything: what is recorded of it is short, and JSON that an API server stores as it is.
func FuzzStep(f *testing.F) {
	f.Add("Running", "2 of 3 approvals", "", int64(45*time.Second), []byte(`{"approvals": 2}`), 0)
	f.Add("Finished", "\xff\x00", strings.Repeat("x", 2000), int64(-1), []byte("["), 40<<10)
	f.Fuzz(func(t *testing.T, phase, message, failure string, again int64, state []byte, kept int) {
		others := v1alpha1.RolloutStatus{}
		others.Canary.StepPluginStatuses = []v1alpha1.StepPluginStatus{{Index: 7, Operation: v1alpha1.StepPluginRun, Status: make([]byte, min(max(kept, 0), mostStates))}}
		said := change.StepAnswer{Phase: phase, Message: message, Error: failure, RequeueAfter: time.Duration(again), Status: state}
		got := Step(said, others, change.StepCall{})
		for _, text := range []string{got.Phase, got.Message, got.Error} {
			if len(text) > 2*longestMessage || !utf8.ValidString(text) {
				t.Errorf("%d bytes are recorded: %q", len(text), text)
			}
		}
		if failure != "" && got.Error == "" {
			t.Error("the error is lost")
		}
		if len(got.Status) == 0 {
			return
		}
		var value any
		if err := utiljson.Unmarshal(got.Status, &value); err != nil || got.Error != "" || len(got.Status) > mostState || len(got.Status)+min(max(kept, 0), mostStates) > mostStates {
			t.Errorf("%d bytes are recorded as the state next to %d, with the error %q: %v", len(got.Status), kept, got.Error, err)
		}
		if again, err := json.Marshal(value); err != nil || string(again) != string(got.Status) {
			t.Errorf("%s is stored as %s: %v", got.Status, again, err)
		}
	})
}

// FuzzProblem has a plugin give any reason: what is shown of it is a short text.
func FuzzProblem(f *testing.F) {
	f.Add("no such Service")
	f.Add(strings.Repeat("ä", 400) + "\xff\x00\x1b[31m")
	f.Fuzz(func(t *testing.T, reason string) {
		if text := Problem(errors.New(reason)); len(text) > longestProblem+3*utf8.UTFMax || !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\x1b") {
			t.Errorf("%q is shown", text)
		}
	})
}
