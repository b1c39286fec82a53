// Package routers is the list of all traffic routers.
package routers

import (
	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/gatewayapi"
	"github.com/sluice-delivery/sluice/internal/traffic/nginx"
)

// Refs are the objects that the traffic routers of a Rollout read and write.
func Refs(ro *v1alpha1.Rollout) []traffic.Ref {
	var refs []traffic.Ref
	for _, router := range For(traffic.Owner{Namespace: ro.Namespace, Name: ro.Name, UID: ro.UID}, spec.Routers(ro), spec.Policy{}) {
		refs = append(refs, router.Refs()...)
	}
	return refs
}

// For returns the routers that a Rollout's spec sets up, in the order of the spec, as far as the controller's policy lets them reach.
func For(owner traffic.Owner, routers []spec.Router, policy spec.Policy) []traffic.Router {
	var all []traffic.Router
	for _, router := range routers {
		switch r := router.(type) {
		case spec.GatewayAPI:
			all = append(all, gatewayapi.New(owner, r, policy))
		case spec.Nginx:
			all = append(all, nginx.New(owner, r))
		}
	}
	return all
}
