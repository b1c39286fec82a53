package traffic

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// OwnerReference makes an object a Rollout's own, which is deleted with it.
func OwnerReference(o Owner) metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindRollout, Name: o.Name, UID: o.UID, Controller: &yes, BlockOwnerDeletion: &yes,
	}
}

// Controls reports whether an object is a Rollout's own.
func Controls(o Owner, object *unstructured.Unstructured) bool {
	by := metav1.GetControllerOf(object)
	return by != nil && by.UID == o.UID
}

// ControllingRollout is the Rollout whose own an object is, if it is one's.
func ControllingRollout(object *unstructured.Unstructured) []types.NamespacedName {
	by := metav1.GetControllerOf(object)
	if by == nil || by.Kind != v1alpha1.KindRollout {
		return nil
	}
	return []types.NamespacedName{{Namespace: object.GetNamespace(), Name: by.Name}}
}
