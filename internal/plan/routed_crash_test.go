package plan_test

import (
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/internal/sim/script"
)

// TestNoRouterTakesTrafficBackAfterACrash has an abort crash between two routers. The one that has given some of the canary's traffic back
// does not take it again while nobody knows how many pods the stable version has.
func TestNoRouterTakesTrafficBackAfterACrash(t *testing.T) {
	script := script.New()
	for _, line := range []string{
		`rollout web replicas=3 lag=2s router=both dynamicStableScale=true steps="weight 46; pause"`,
		"settle", "set image v2", "settle",
		"crash after 2 writes", // the stable version grows, and the first router gives back what two pods can carry
		"abort", "advance 1s",
	} {
		if _, err := script.Run(line); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	status, err := script.Run("status")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(status, "canary-weight 34") || !strings.Contains(status, "web-stable 54 + web-canary 46") {
		t.Errorf("one router has given back what it could, the other nothing yet, and both stay so:\n%s", status)
	}
}
