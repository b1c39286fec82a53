package gatewayapi

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/internal/spec"
)

// Kinds are those of the objects that the router writes.
func Kinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{GVK(spec.HTTPRoute), GVK(spec.GRPCRoute), GVK(spec.TCPRoute), GVK(spec.TLSRoute)}
}

// Owners are the Rollouts that have something noted in a route.
func Owners(object *unstructured.Unstructured) []types.NamespacedName {
	var owners []types.NamespacedName
	for _, key := range slices.Sorted(maps.Keys(readNotes(object).raw)) {
		namespace, name, _ := strings.Cut(key, "/")
		owners = append(owners, types.NamespacedName{Namespace: namespace, Name: name})
	}
	return owners
}
