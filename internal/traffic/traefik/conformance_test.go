package traefik_test

import (
	"testing"

	"github.com/sluice-delivery/sluice/internal/traffic/conformance"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance/subjects"
)

func TestConformance(t *testing.T) {
	conformance.Run(t, subjects.Traefik(subjects.Rollout("shop"), subjects.InMemory(subjects.TraefikServices, "shop"), 2000))
}

func TestConformanceWithMirrors(t *testing.T) {
	conformance.Run(t, subjects.TraefikMirrors(subjects.Rollout("shop"), subjects.InMemory(subjects.TraefikServices, "shop"), 2000))
}

func FuzzRenderMirrors(f *testing.F) {
	conformance.Fuzz(f, subjects.TraefikServices, subjects.TraefikMirrors(subjects.Rollout("shop"), nil, 0).Router)
}

func FuzzRender(f *testing.F) {
	conformance.Fuzz(f, subjects.TraefikServices, subjects.Traefik(subjects.Rollout("shop"), nil, 0).Router)
}
