package routed

import (
	"testing"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// The weight in the status is that of the Service that it names, whichever part it plays now. Of another Service nothing is recorded.
func TestTheRecordedWeightGoesByTheService(t *testing.T) {
	named := func(name string, weight int32) v1alpha1.WeightDestination {
		return v1alpha1.WeightDestination{ServiceName: name, Weight: weight}
	}
	for name, row := range map[string]struct {
		weights  *v1alpha1.TrafficWeights
		weight   int32
		recorded bool
	}{
		"nothing is recorded":          {nil, 0, false},
		"the canary":                   {&v1alpha1.TrafficWeights{Canary: named("ping", 20), Stable: named("pong", 80)}, 20, true},
		"the stable version until now": {&v1alpha1.TrafficWeights{Canary: named("pong", 20), Stable: named("ping", 80)}, 80, true},
		"more than there is":           {&v1alpha1.TrafficWeights{Canary: named("ping", 200), Stable: named("pong", 0)}, 100, true},
		"other Services":               {&v1alpha1.TrafficWeights{Canary: named("web-canary", 20), Stable: named("web-stable", 80)}, 0, false},
	} {
		r := &Split{update: &progress.Progress{Was: &v1alpha1.RolloutStatus{}}, canary: spec.Canary{MaxWeight: 100}, CanaryService: spec.Reference{Name: "ping"}}
		r.update.Was.Canary.Weights = row.weights
		if weight, recorded := r.recordedWeight(); weight != row.weight || recorded != row.recorded {
			t.Errorf("%s: %d, recorded: %t; want %d, %t", name, weight, recorded, row.weight, row.recorded)
		}
	}
}
