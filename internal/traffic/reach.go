package traffic

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// MayUse reports whether a Rollout may use the object that a reference names, nil being one that does not exist: one of its own namespace, or
// one of another namespace whose owner, or the operator, lets it.
func MayUse(owner Owner, policy spec.Policy, ref Key, object *unstructured.Unstructured) bool {
	return ref.Namespace == owner.Namespace || policy.AllowsRoute(owner.Namespace, ref.GroupKind(), ref.Namespace, ref.Name) ||
		object != nil && Admits(object, owner.Namespace)
}

// NotAllowed says that an object of another namespace may not be used. It is the same text whether or not the object exists: that is not this
// namespace's to know.
func NotAllowed(owner Owner, ref Ref) spec.Problem {
	return spec.Problem{
		Field: ref.Field,
		Text: fmt.Sprintf("%s %q belongs to namespace %s, whose routes this Rollout may not use: have its owner annotate it with %s: %s or create a ReferenceGrant there, or start the controller with %s=%s",
			ref.Kind, ref.Name, ref.Namespace, v1alpha1.RolloutNamespacesAnnotation, owner.Namespace, spec.RouteNamespacesFlag, ref.Namespace),
	}
}

// Admits reports whether the owner of an object lets Rollouts of a namespace use it.
func Admits(object *unstructured.Unstructured, namespace string) bool {
	if object.GetNamespace() == namespace {
		return true
	}
	for name := range strings.SplitSeq(object.GetAnnotations()[v1alpha1.RolloutNamespacesAnnotation], ",") {
		if name = strings.TrimSpace(name); name == namespace || name == spec.AnyNamespace {
			return true
		}
	}
	return false
}
