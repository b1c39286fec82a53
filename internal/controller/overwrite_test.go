package controller

import (
	"encoding/json"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// A status of which something could not be read is written so that all of it can be read, and everything else stays as it is stored.
func TestAStatusThatCannotBeReadIsWrittenOver(t *testing.T) {
	tests := map[string]struct{ stored, want string }{
		"a field that is empty now": {`{"replicas": "many", "stableRS": "a"}`, `{"stableRS": "a", "phase": "Healthy"}`},
		"a field that is set now":   {`{"phase": 5, "canary": {}, "blueGreen": {}}`, `{"phase": "Healthy", "canary": {}, "blueGreen": {}}`},
		"below an object":           {`{"canary": {"weights": 1, "currentExperiment": "e"}}`, `{"canary": {"currentExperiment": "e"}, "phase": "Healthy"}`},
		"an object":                 {`{"canary": []}`, `{"phase": "Healthy", "canary": {}, "blueGreen": {}}`},
		"in a list":                 {`{"pauseConditions": [{"reason": "a", "startTime": "now"}, {"reason": "b", "startTime": "2026-01-31T12:00:00Z"}]}`, `{"pauseConditions": [{"reason": "b", "startTime": "2026-01-31T12:00:00Z"}], "phase": "Healthy"}`},
		"all of it":                 {`"none"`, `{"phase": "Healthy", "canary": {}, "blueGreen": {}}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			stored := []byte(`{"metadata": {"name": "web", "resourceVersion": "1"}, "spec": {"replicas": "three", "later": 1}, "status": ` + tt.stored + `}`)
			var from v1alpha1.Rollout
			if err := json.Unmarshal(stored, &from); err != nil {
				t.Fatal(err)
			}
			to := from.DeepCopy()
			to.Status.Phase = v1alpha1.RolloutPhaseHealthy
			data, err := guarded(&from).Data(to)
			if err != nil {
				t.Fatal(err)
			}
			after, err := jsonpatch.MergePatch(stored, data)
			if err != nil {
				t.Fatal(err)
			}
			var got, want map[string]any
			if err := json.Unmarshal(after, &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got["status"]); diff != "" {
				t.Errorf("%s\nmakes another status:\n%s", data, diff)
			}
			if diff := cmp.Diff(map[string]any{"replicas": "three", "later": 1.0}, got["spec"]); diff != "" {
				t.Errorf("%s\nchanges the spec:\n%s", data, diff)
			}
			var again v1alpha1.Rollout
			if err := json.Unmarshal(after, &again); err != nil || len(again.Unreadable.Of("status")) > 0 {
				t.Errorf("the status still cannot be read: %v, %v", err, again.Unreadable)
			}
		})
	}
}
