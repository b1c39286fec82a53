package plan_test

import (
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/internal/sim/script"
)

// TestAnUpdateWaitsForWhatARestartEvicted: a new template arrives just after a restart has evicted a pod that the ReplicaSet still reports.
// Scaling down by that report would delete one pod too many.
func TestAnUpdateWaitsForWhatARestartEvicted(t *testing.T) {
	script := script.New()
	tell := func(line string) string {
		text, err := script.Run(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return text
	}
	tell(`rollout web replicas=4 lag=2s maxSurge=1 maxUnavailable=1 steps="weight 50; pause"`)
	tell("settle")
	if text := tell("restart"); !strings.Contains(text, "restart pod") {
		t.Fatalf("no pod is evicted:\n%s", text)
	}
	if text := tell("set image v2"); strings.Contains(text, "create web-v2") || !strings.Contains(text, "has not reported yet that a pod of it was restarted") {
		t.Errorf("the update does not wait:\n%s", text)
	}
	if text := tell("settle"); !strings.Contains(text, "create web-v2") {
		t.Errorf("the update never begins:\n%s", text)
	}
}
