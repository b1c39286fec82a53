package istio_test

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance"
	"github.com/sluice-delivery/sluice/internal/traffic/istio"
)

func TestGolden(t *testing.T) {
	conformance.Golden(t, "testdata", func(owner traffic.Owner, setup []byte) (traffic.Router, error) {
		var i struct {
			spec.Istio
			Policy spec.Policy
		}
		err := yaml.UnmarshalStrict(setup, &i)
		return istio.New(owner, i.Istio, i.Policy), err
	})
}
