package custom_test

import (
	"testing"

	"github.com/sluice-delivery/sluice/internal/traffic/conformance"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance/subjects"
)

// Each of the examples is what the suite is run with.
func TestConformance(t *testing.T) {
	for _, example := range subjects.CustomExamples() {
		t.Run(example, func(t *testing.T) {
			world := func(t testing.TB) conformance.World { return conformance.Memory(subjects.Routing(t, example, "shop")) }
			conformance.Run(t, subjects.Custom(t, subjects.Rollout("shop"), example, world, 500))
		})
	}
}
