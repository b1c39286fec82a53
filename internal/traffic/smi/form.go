package smi

import (
	"maps"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/internal/traffic"
)

// Versions are those in which the API server may have TrafficSplits, the best first.
func Versions() []string { return []string{"v1alpha4", "v1alpha3", "v1alpha2", quantities} }

// quantities is the version whose weights are quantities: texts such as "10".
const quantities = "v1alpha1"

// Form returns a TrafficSplit as one writes it in a version.
func Form(o *unstructured.Unstructured, version string) *unstructured.Unstructured {
	if version != quantities {
		return o
	}
	out := o.DeepCopy()
	content, _ := out.Object["spec"].(map[string]any)
	list, _ := content["backends"].([]any)
	for _, entry := range list {
		backend, _ := entry.(map[string]any)
		if weight, ok := traffic.Number(backend["weight"]); ok {
			backend["weight"] = strconv.FormatInt(weight, 10)
		}
	}
	return out
}

// number reads a weight of any version.
func number(value any) (int64, bool) {
	if text, ok := value.(string); ok {
		weight, err := strconv.ParseInt(text, 10, 32)
		return weight, err == nil && weight >= 0
	}
	weight, ok := traffic.Number(value)
	return weight, ok && weight >= 0 && weight <= mostWeight
}

// mostWeight is more than anyone gives a backend, so that sums do not overflow.
const mostWeight = 1 << 31

// numbered are backends with weights as numbers, nil if they are not backends with nothing but a Service and a weight.
func numbered(value any) []any {
	list, _ := value.([]any)
	var all []any
	for _, entry := range list {
		backend, ok := entry.(map[string]any)
		weight, read := number(backend["weight"])
		if !ok || !read {
			return nil
		}
		backend = maps.Clone(backend)
		backend["weight"] = weight
		all = append(all, backend)
	}
	return all
}
