package istio_test

import (
	"testing"

	"github.com/sluice-delivery/sluice/internal/traffic/conformance"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance/subjects"
)

func TestConformance(t *testing.T) {
	conformance.Run(t, subjects.Istio(subjects.Rollout("shop"), subjects.InMemory(subjects.Services, "shop"), 2000))
}

func TestConformanceOfSessions(t *testing.T) {
	conformance.Run(t, subjects.IstioSessions(subjects.Rollout("shop"), subjects.InMemory(subjects.Services, "shop"), 2000))
}

func TestConformanceOfSubsets(t *testing.T) {
	conformance.Run(t, subjects.IstioSubsets(subjects.Rollout("shop"), subjects.InMemory(subjects.Services, "shop"), 2000))
}
