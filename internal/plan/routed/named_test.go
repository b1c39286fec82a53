package routed

import (
	"testing"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// A destination of an experiment is named by its Service and its version together: another version behind the same Service is another destination.
func TestDestinationsAreNamedByBoth(t *testing.T) {
	for name, row := range map[string]struct {
		noted v1alpha1.WeightDestination
		named int
	}{
		"it is noted":      {v1alpha1.WeightDestination{ServiceName: "e", PodTemplateHash: "a"}, 1},
		"another version":  {v1alpha1.WeightDestination{ServiceName: "e", PodTemplateHash: "b"}, 0},
		"another Service":  {v1alpha1.WeightDestination{ServiceName: "f", PodTemplateHash: "a"}, 0},
		"without a status": {v1alpha1.WeightDestination{}, 0},
	} {
		r := &Split{update: &progress.Progress{Was: &v1alpha1.RolloutStatus{}}, journal: &change.Journal{}}
		if row.noted.ServiceName != "" {
			r.update.Was.Canary.Weights = &v1alpha1.TrafficWeights{Additional: []v1alpha1.WeightDestination{row.noted}}
		}
		if got := len(r.named([]traffic.Destination{{Service: "e", Hash: "a", Weight: 5}})); got != row.named {
			t.Errorf("%s: %d destinations are named, want %d", name, got, row.named)
		}
		if waits := len(r.journal.Notes); waits != 1-row.named {
			t.Errorf("%s: %d notes", name, waits)
		}
	}
}
