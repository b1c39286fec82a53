package subjects

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance"
	"github.com/sluice-delivery/sluice/internal/traffic/traefik"
)

// Traefik is the router of Traefik, with one TraefikService.
func Traefik(owner traffic.Owner, world func(*testing.T) conformance.World, splits int) conformance.Subject {
	field := routing + ".traefik"
	s := spec.Traefik{Field: field, ServiceField: field + ".weightedTraefikServiceName", Service: "web"}
	return conformance.Subject{Router: traefik.New(owner, s), World: world, Weights: weightsOfTraefik, Bare: bareTraefik, Splits: splits}
}

func weightsOfTraefik(objects traffic.Objects) []map[string]int64 {
	var all []map[string]int64
	for _, o := range objects {
		all = append(all, weightsOfList(o.Object, "name", "spec", "weighted", "services"))
	}
	return all
}

// weightsOfList reads a list of Services with weights; entries of another kind have no part in it.
func weightsOfList(object map[string]any, key string, path ...string) map[string]int64 {
	list, _, _ := unstructured.NestedSlice(object, path...) // none is none
	weights := map[string]int64{}
	for _, value := range list {
		entry := value.(map[string]any)
		if kind, ok := entry["kind"]; ok && kind != "Service" {
			continue
		}
		weight, ok := entry["weight"].(int64)
		if !ok {
			weight = 1
		}
		weights[fmt.Sprint(entry[key])] += weight
	}
	return weights
}

func bareTraefik(o *unstructured.Unstructured) *unstructured.Unstructured {
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
