package nginx_test

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance"
	"github.com/sluice-delivery/sluice/internal/traffic/nginx"
)

func TestGolden(t *testing.T) {
	conformance.Golden(t, "testdata", func(owner traffic.Owner, setup []byte) (traffic.Router, error) {
		var n spec.Nginx
		err := yaml.UnmarshalStrict(setup, &n)
		return nginx.New(owner, n), err
	})
}
