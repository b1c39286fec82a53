package ambassador_test

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/ambassador"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance"
)

func TestGolden(t *testing.T) {
	conformance.Golden(t, "testdata", func(owner traffic.Owner, setup []byte) (traffic.Router, error) {
		var a spec.Ambassador
		err := yaml.UnmarshalStrict(setup, &a)
		return ambassador.New(owner, a), err
	})
}
