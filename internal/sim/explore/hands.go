package explore

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// spareServices are those that a Rollout may name in the place of others, where people lay hands on what is managed.
var spareServices = []string{"web-active-2", "web-preview-2", "web-canary-2", "web-stable-2"}

// everyService are all Services that there may be.
var everyService = slices.Concat(allServices, spareServices)

// handDisturbances are what people do to the objects that a Rollout manages: they delete any ReplicaSet, edit a Service to any hash, and give
// the Services in the spec other names.
var handDisturbances = []disturbance{
	{30, "delete any ReplicaSet", (*history).deleteAny},
	{60, "edit a Service", (*history).editSelector},
	{30, "rename a Service", func(h *history) { h.edit(h.rename()) }},
	{10, "rename a Service and its routes", func(h *history) {
		h.edit(h.rename())
		h.restoreRoutes()
	}},
}

// deleteAny deletes a ReplicaSet, half of the time the stable version's.
func (h *history) deleteAny() {
	sets := h.world.ReplicaSets()
	if len(sets) == 0 {
		return
	}
	chosen := sets[h.IntN(len(sets))]
	if h.IntN(2) == 0 {
		for _, rs := range sets {
			if hashOf(rs) == h.world.Rollout().Status.StableRS {
				chosen = rs
			}
		}
	}
	h.world.DeleteReplicaSet(chosen.Spec.Template.Spec.Containers[0].Image)
}

// editSelector has a Service select a version that is not there, any that is, the new one, the stable one, an empty one or all.
func (h *history) editSelector() {
	name := h.service()
	status, sets := h.world.Rollout().Status, h.world.ReplicaSets()
	hash := ""
	switch kind := h.IntN(6); {
	case kind == 0:
		hash = "0000000000"
	case kind == 1 && len(sets) > 0:
		hash = hashOf(sets[h.IntN(len(sets))])
	case kind <= 3:
		hash = status.CurrentPodHash
	case kind == 4:
		hash = status.StableRS
	case h.IntN(2) == 0:
		h.world.EditService(name, func(s *corev1.Service) { delete(s.Spec.Selector, v1alpha1.PodTemplateHashLabel) })
		return
	}
	h.world.EditService(name, func(s *corev1.Service) { s.Spec.Selector[v1alpha1.PodTemplateHashLabel] = hash })
}

// rename gives one of the Services that a spec names another name, or the name that it had.
func (h *history) rename() func(*v1alpha1.Rollout) {
	n := h.IntN(2)
	return func(ro *v1alpha1.Rollout) {
		var names []*string
		if b := ro.Spec.Strategy.BlueGreen; b != nil {
			names = []*string{&b.ActiveService, &b.PreviewService}
		}
		if c := ro.Spec.Strategy.Canary; c != nil {
			names = []*string{&c.CanaryService, &c.StableService}
		}
		if name := names[n]; *name != "" {
			*name = other(*name)
			if h.world.Service(*name) == nil {
				h.world.CreateService(*name)
			}
		}
	}
}

// other is the name that a Service may have instead.
func other(name string) string {
	for i, spare := range spareServices {
		switch name {
		case allServices[i]:
			return spare
		case spare:
			return allServices[i]
		}
	}
	return name
}
