package routers

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/gatewayapi"
	"github.com/sluice-delivery/sluice/internal/traffic/nginx"
)

// Kinds are those of the objects into which routers put something.
func Kinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		nginx.GVK,
		gatewayapi.GVK(spec.HTTPRoute), gatewayapi.GVK(spec.GRPCRoute), gatewayapi.GVK(spec.TCPRoute), gatewayapi.GVK(spec.TLSRoute),
	}
}

// Writes reports whether routers put something into objects of a kind.
func Writes(gvk schema.GroupVersionKind) bool { return slices.Contains(Kinds(), gvk) }

// FormatKey writes the key of an object of one of the [Kinds].
func FormatKey(key traffic.Key) string {
	return strings.ToLower(key.Kind) + "/" + key.NamespacedName.String()
}

// ParseKey reads what [FormatKey] writes.
func ParseKey(text string) (traffic.Key, bool) {
	parts := strings.Split(strings.TrimSpace(text), "/")
	if len(parts) != 3 || parts[1] == "" || parts[2] == "" {
		return traffic.Key{}, false
	}
	for _, gvk := range Kinds() {
		if strings.ToLower(gvk.Kind) == parts[0] {
			return traffic.Key{GroupVersionKind: gvk, NamespacedName: types.NamespacedName{Namespace: parts[1], Name: parts[2]}}, true
		}
	}
	return traffic.Key{}, false
}

// mostOwners is how many Rollouts are believed to share one object: more cannot have a rule of their own in it.
const mostOwners = 128

// Owners are the Rollouts whose routers have put something into an object that must be taken out again when they are gone. The object's
// metadata tells, which is what its tenant may have written: so of Rollouts of other namespaces it is believed only where these may
// use the object.
func Owners(object *unstructured.Unstructured, policy spec.Policy) []types.NamespacedName {
	var owners []types.NamespacedName
	switch {
	case gatewayapi.Writes(object.GroupVersionKind()):
		for _, owner := range gatewayapi.Owners(object) {
			if policy.AllowsRoute(owner.Namespace, object.GetKind(), object.GetNamespace(), object.GetName()) || gatewayapi.Admits(object, owner.Namespace) {
				owners = append(owners, owner)
			}
		}
	case nginx.Writes(object.GroupVersionKind()):
		owners = nginx.Owners(object)
	}
	return owners[:min(mostOwners, len(owners))]
}

// Release returns an object without what the routers of a Rollout put there, as [traffic.Router] does, whatever the Rollout's spec
// says now.
func Release(owner traffic.Owner, object *unstructured.Unstructured) *unstructured.Unstructured {
	if nginx.Writes(object.GroupVersionKind()) {
		return nginx.New(owner, spec.Nginx{}).Release(object)
	}
	return gatewayapi.New(owner, spec.GatewayAPI{}, spec.Policy{}).Release(object)
}
