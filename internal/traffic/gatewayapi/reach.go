package gatewayapi

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// mayUse reports whether the Rollout may use a route of the router's namespace, nil being one that does not exist.
func (r router) mayUse(in spec.GatewayRoute, object *unstructured.Unstructured) bool {
	return r.spec.Namespace == r.owner.Namespace || r.policy.AllowsRoute(r.owner.Namespace, in.Kind, r.spec.Namespace, in.Name) ||
		object != nil && Admits(object, r.owner.Namespace)
}

// notAllowed is the same text whether or not the route exists: it is not this namespace's to know.
func (r router) notAllowed(in spec.GatewayRoute) string {
	return fmt.Sprintf("%s %q belongs to namespace %s, whose routes this Rollout may not use: have its owner annotate it with %s: %s or create a ReferenceGrant there, or start the controller with --gateway-route-namespaces=%s",
		in.Kind, in.Name, r.spec.Namespace, v1alpha1.RolloutNamespacesAnnotation, r.owner.Namespace, r.spec.Namespace)
}

// Admits reports whether the owner of a route lets Rollouts of a namespace use it.
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
