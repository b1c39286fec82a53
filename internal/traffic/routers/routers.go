// Package routers is the list of all traffic routers. A new one is a row of the table.
package routers

import (
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// Refs are the objects that the traffic routers of a Rollout read and write, as far as the spec names them.
func Refs(ro *v1alpha1.Rollout) []traffic.Ref {
	return refs(ro, spec.Policy{})
}

// For returns the routers that a Rollout's spec sets up, in the order of the spec, as far as the controller's policy lets them reach.
func For(owner traffic.Owner, routers []spec.Router, policy spec.Policy) []traffic.Router {
	var all []traffic.Router
	for _, of := range routers {
		if g, ok := of.(spec.GatewayAPI); ok && policy.GatewayAPIBinary && g.Plugin.Name != "" {
			of = g.Plugin
		}
		for _, row := range table {
			if router, ok := row.open(owner, of, policy); ok {
				all = append(all, served(router, policy))
			}
		}
	}
	return all
}

// RefsWith are the [Refs] by the controller's policy, together with those that are found by their labels.
func RefsWith(ro *v1alpha1.Rollout, policy spec.Policy) []traffic.Ref { return refs(ro, policy) }

func refs(ro *v1alpha1.Rollout, policy spec.Policy) []traffic.Ref {
	var all []traffic.Ref
	for _, router := range For(ownerOf(ro), spec.Routers(ro), policy) {
		all = append(all, router.Refs()...)
	}
	return all
}

// Selections are what the traffic routers of a Rollout find by labels.
func Selections(ro *v1alpha1.Rollout) []traffic.Selection {
	var all []traffic.Selection
	for _, router := range For(ownerOf(ro), spec.Routers(ro), spec.Policy{}) {
		if s, ok := router.(traffic.Selector); ok {
			all = append(all, s.Selections()...)
		}
	}
	return all
}

// Select finds the objects of selections, of each one more at most than it may find: that one is reported.
func Select(from []traffic.Selection, objects iter.Seq[*unstructured.Unstructured]) []spec.SelectedObject {
	var all []spec.SelectedObject
	for _, s := range from {
		var names []string
		for o := range objects {
			if s.Selects(o) && !slices.Contains(names, o.GetName()) {
				names = append(names, o.GetName())
			}
		}
		slices.Sort(names)
		for _, name := range names[:min(len(names), spec.MostSelected+1)] {
			all = append(all, spec.SelectedObject{Field: s.Field, Name: name})
		}
	}
	return all
}
