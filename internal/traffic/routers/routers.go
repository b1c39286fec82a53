// Package routers is the list of all traffic routers. A new one is a row of the table.
package routers

import (
	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
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
	for _, of := range routers {
		for _, row := range table {
			if router, ok := row.open(owner, of, policy); ok {
				all = append(all, served(router, policy))
			}
		}
	}
	return all
}
