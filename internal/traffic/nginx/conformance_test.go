package nginx_test

import (
	"testing"

	"github.com/sluice-delivery/sluice/internal/traffic/conformance"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance/subjects"
)

func TestConformance(t *testing.T) {
	conformance.Run(t, subjects.Nginx(subjects.Rollout("shop"), subjects.InMemory(subjects.Ingresses, "shop"), 2000))
}
