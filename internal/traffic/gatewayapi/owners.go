package gatewayapi

import (
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
	notes := readNotes(object)
	return notes.Names()
}
