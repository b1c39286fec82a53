package expr

import (
	"strings"
	"testing"
	"time"
)

func TestExpressionsWithVariables(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	parse := func(s string) (time.Time, error) { return time.Parse(time.RFC3339, s) }
	variables := map[string]any{
		"rollout": map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{"a.b/c": "x"}},
			"status":   map[string]any{"phase": "Paused", "since": "2026-11-23T11:00:00Z", "conditions": []any{map[string]any{"type": "Paused"}}},
		},
		"time": map[string]any{"Now": func() time.Time { return now }, "Parse": parse},
	}
	for name, c := range map[string]struct {
		text string
		want any
	}{
		"a field":                   {`rollout.status.phase == 'Paused'`, true},
		"an annotation":             {`rollout.metadata.annotations["a.b/c"]`, "x"},
		"how long ago":              {`time.Now().Sub(time.Parse(rollout.status.since)).Minutes() >= 60`, true},
		"a list":                    {`any(rollout.status.conditions, {.type == "Paused"})`, true},
		"a variable of its own":     {`let p = rollout.status.phase; p in ["Paused"]`, true},
		"what may not be there":     {`default(rollout.status.nothing.here, "no")`, "no"},
		"a field that is not there": {`rollout.status.message == nil`, true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := CheckWith(c.text, "rollout", "time"); err != nil {
				t.Fatal(err)
			}
			got, err := With(t.Context(), c.text, variables, now)
			if err != nil || got != c.want {
				t.Errorf("%v, %v, want %v", got, err, c.want)
			}
		})
	}
	if err := CheckWith(`analysisRuns.length`, "rollout"); err == nil || !strings.Contains(err.Error(), "analysisRuns") {
		t.Errorf("a variable that is not declared: %v", err)
	}
	if _, err := With(t.Context(), `sum(map(1..100000, {# * len(map(1..100000, #))})) > 0`, variables, now); err == nil {
		t.Error("an endless expression ended")
	}
}
