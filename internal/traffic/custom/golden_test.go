package custom_test

import (
	"errors"
	"fmt"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance"
	"github.com/sluice-delivery/sluice/internal/traffic/custom"
)

func TestGolden(t *testing.T) {
	conformance.Golden(t, "testdata", func(owner traffic.Owner, setup []byte) (traffic.Router, error) {
		c, err := read(owner.Namespace, setup)
		return custom.New(owner, c, spec.Policy{}), err
	})
}

// read is the router as a Rollout sets it up.
func read(namespace string, setup []byte) (spec.Custom, error) {
	var c v1alpha1.CustomTrafficRouting
	if err := yaml.UnmarshalStrict(setup, &c); err != nil {
		return spec.Custom{}, err
	}
	ro := &v1alpha1.Rollout{}
	ro.Namespace = namespace
	ro.Spec.Strategy.Canary = &v1alpha1.CanaryStrategy{TrafficRouting: &v1alpha1.RolloutTrafficRouting{Custom: []v1alpha1.CustomTrafficRouting{c}}}
	for _, r := range spec.Routers(ro) {
		if c, ok := r.(spec.Custom); ok {
			return c, nil
		}
	}
	return spec.Custom{}, errors.New(fmt.Sprint("no router is read from ", string(setup)))
}
