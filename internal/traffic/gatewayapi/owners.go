package gatewayapi

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Writes reports whether objects of a kind are the router's to write.
func Writes(gvk schema.GroupVersionKind) bool { return isRoute(gvk) }

// Owners are the Rollouts that have something noted in a route.
func Owners(object *unstructured.Unstructured) []types.NamespacedName {
	var owners []types.NamespacedName
	for _, key := range slices.Sorted(maps.Keys(readNotes(object).raw)) {
		namespace, name, _ := strings.Cut(key, "/")
		owners = append(owners, types.NamespacedName{Namespace: namespace, Name: name})
	}
	return owners
}
