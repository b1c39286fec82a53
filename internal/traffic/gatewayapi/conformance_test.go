package gatewayapi_test

import (
	"testing"

	"github.com/sluice-delivery/sluice/internal/traffic/conformance"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance/subjects"
)

func TestConformanceOfSessions(t *testing.T) {
	conformance.Run(t, subjects.GatewaySessions(subjects.Rollout("shop"), subjects.InMemory(subjects.Routes, "shop"), 2000))
}

func TestConformance(t *testing.T) {
	conformance.Run(t, subjects.GatewayAPI(subjects.Rollout("shop"), subjects.InMemory(subjects.Routes, "shop"), 2000))
}
