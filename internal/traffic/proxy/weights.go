// Package proxy reads objects of traffic routers as proxies do. Tests and the simulator hold the routers against it, so it shares nothing
// with them.
package proxy

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Weights are the weights in the first place of an object that lists Services with weights, as its proxy understands them; false if
// the object is of another form.
func Weights(o *unstructured.Unstructured) (map[string]int64, bool) {
	if o.GetKind() == "TraefikService" {
		return weightsOfList("name", o.Object, "spec", "weighted", "services"), true
	}
	return nil, false
}

// weightsOfList sums the weights of the Services in a list. Where none is written it is 1.
func weightsOfList(key string, in map[string]any, path ...string) map[string]int64 {
	list, _, _ := unstructured.NestedSlice(in, path...) // none is none
	weights := map[string]int64{}
	for _, value := range list {
		entry, _ := value.(map[string]any)
		if kind, typed := entry["kind"]; typed && kind != "Service" {
			continue
		}
		weight, written := entry["weight"].(int64)
		if !written {
			weight = 1
		}
		weights[fmt.Sprint(entry[key])] += weight
	}
	return weights
}
