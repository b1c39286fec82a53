package ambassador_test

import (
	"testing"

	"github.com/sluice-delivery/sluice/internal/traffic/conformance"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance/subjects"
)

func TestConformance(t *testing.T) {
	conformance.Run(t, subjects.Ambassador(subjects.Rollout("shop"), subjects.InMemory(subjects.Mappings, "shop"), 2000))
}

func FuzzRender(f *testing.F) {
	conformance.Fuzz(f, subjects.Mappings, subjects.Ambassador(subjects.Rollout("shop"), nil, 0).Router)
}
