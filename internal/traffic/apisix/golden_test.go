package apisix_test

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/apisix"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance"
)

func TestGolden(t *testing.T) {
	conformance.Golden(t, "testdata", func(owner traffic.Owner, setup []byte) (traffic.Router, error) {
		var a spec.Apisix
		err := yaml.UnmarshalStrict(setup, &a)
		return apisix.New(owner, a), err
	})
}
