package routers

import (
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

// Owners are the Rollouts whose routers have put something into an object that must be taken out again when they are gone.
// The object's metadata tells.
func Owners(object *unstructured.Unstructured) []types.NamespacedName {
	switch {
	case gatewayapi.Writes(object.GroupVersionKind()):
		return gatewayapi.Owners(object)
	case nginx.Writes(object.GroupVersionKind()):
		return nginx.Owners(object)
	}
	return nil
}

// Release returns an object without what the routers of a Rollout put there, as [traffic.Router] does, whatever the Rollout's spec
// says now.
func Release(owner traffic.Owner, object *unstructured.Unstructured) *unstructured.Unstructured {
	if nginx.Writes(object.GroupVersionKind()) {
		return nginx.New(owner, spec.Nginx{}).Release(object)
	}
	return gatewayapi.New(owner, spec.GatewayAPI{}, spec.Policy{}).Release(object)
}
