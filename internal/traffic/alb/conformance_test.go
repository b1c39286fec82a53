package alb_test

import (
	"testing"

	"github.com/sluice-delivery/sluice/internal/traffic/conformance"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance/subjects"
)

func TestConformance(t *testing.T) {
	conformance.Run(t, subjects.ALB(subjects.Rollout("shop"), subjects.InMemory(subjects.ALBIngresses, "shop"), 2000))
}

func FuzzRender(f *testing.F) {
	conformance.Fuzz(f, subjects.ALBIngresses, subjects.ALB(subjects.Rollout("shop"), nil, 0).Router)
}
