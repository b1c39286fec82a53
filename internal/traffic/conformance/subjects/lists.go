package subjects

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance"
	"github.com/sluice-delivery/sluice/internal/traffic/proxy"
	"github.com/sluice-delivery/sluice/internal/traffic/traefik"
)

// Traefik is the router of Traefik, with one TraefikService.
func Traefik(owner traffic.Owner, world func(*testing.T) conformance.World, splits int) conformance.Subject {
	field := routing + ".traefik"
	s := spec.Traefik{Field: field, ServiceField: field + ".weightedTraefikServiceName", Service: "web"}
	return conformance.Subject{Router: traefik.New(owner, s), World: world, Weights: listedWeights, Bare: bareList, Splits: splits}
}

// listedWeights are the weights of all objects that list Services.
func listedWeights(objects traffic.Objects) []map[string]int64 {
	var all []map[string]int64
	for _, o := range objects {
		if weights, ok := proxy.Weights(o); ok {
			all = append(all, weights)
		}
	}
	return all
}

func bareList(o *unstructured.Unstructured) *unstructured.Unstructured {
	out := o.DeepCopy()
	dropWeights(out.Object["spec"])
	return out
}

// dropWeights removes all weights below a value.
func dropWeights(value any) {
	switch v := value.(type) {
	case map[string]any:
		delete(v, "weight")
		for _, below := range v {
			dropWeights(below)
		}
	case []any:
		for _, below := range v {
			dropWeights(below)
		}
	}
}
