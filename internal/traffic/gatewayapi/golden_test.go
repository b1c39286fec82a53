package gatewayapi_test

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance"
	"github.com/sluice-delivery/sluice/internal/traffic/gatewayapi"
)

func TestGolden(t *testing.T) {
	conformance.Golden(t, "testdata", func(owner traffic.Owner, setup []byte) (traffic.Router, error) {
		var g struct {
			spec.GatewayAPI
			Policy spec.Policy
		}
		err := yaml.UnmarshalStrict(setup, &g)
		return gatewayapi.New(owner, g.GatewayAPI, g.Policy), err
	})
}
