package traefik_test

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance"
	"github.com/sluice-delivery/sluice/internal/traffic/traefik"
)

func TestGolden(t *testing.T) {
	conformance.Golden(t, "testdata", func(owner traffic.Owner, setup []byte) (traffic.Router, error) {
		var s spec.Traefik
		err := yaml.UnmarshalStrict(setup, &s)
		return traefik.New(owner, s), err
	})
}
