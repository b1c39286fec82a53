package nginx

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Kinds are those of the objects that the router writes.
func Kinds() []schema.GroupVersionKind { return []schema.GroupVersionKind{GVK} }

// Owners is the Rollout whose canary Ingress this is, if it is one.
func Owners(object *unstructured.Unstructured) []types.NamespacedName {
	by := metav1.GetControllerOf(object)
	if by == nil || by.Kind != v1alpha1.KindRollout {
		return nil
	}
	return []types.NamespacedName{{Namespace: object.GetNamespace(), Name: by.Name}}
}
