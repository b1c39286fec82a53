package routers

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// Events are those of a write to an object that the Rollout names, by the router that it names it for. Without from the object was created, without
// to deleted.
func Events(ro *v1alpha1.Rollout, from, to *unstructured.Unstructured) (all []traffic.Event) {
	for _, router := range naming(ro, Written(from, to)) {
		if r, ok := router.(traffic.Reporter); ok {
			all = append(all, r.Report(from, to)...)
		}
	}
	return all
}

// FailureEvents are those of a write that the API server rejected for a reason. The Rollout need not name the object any more.
func FailureEvents(ro *v1alpha1.Rollout, from, to *unstructured.Unstructured, reason string) (all []traffic.Event) {
	key := Written(from, to)
	writers := naming(ro, key)
	if len(writers) == 0 {
		for _, row := range rowsOf(key.GroupVersionKind) {
			writers = append(writers, row.blank(ownerOf(ro)))
		}
	}
	for _, router := range writers {
		if r, ok := router.(traffic.FailureReporter); ok {
			if event, ok := r.ReportFailure(from, to, reason); ok {
				all = append(all, event)
			}
		}
	}
	return all
}

// Troubles are the problems with the objects of a Rollout's routers that have events of their own.
func Troubles(ro *v1alpha1.Rollout, have traffic.Objects) (all []traffic.Trouble) {
	for _, router := range For(ownerOf(ro), spec.Routers(ro), spec.Policy{}) {
		if r, ok := router.(traffic.TroubleReporter); ok {
			all = append(all, r.Troubles(have)...)
		}
	}
	return all
}

// naming are the routers of a Rollout that name an object: several write Ingresses.
func naming(ro *v1alpha1.Rollout, key traffic.Key) []traffic.Router {
	return slices.DeleteFunc(For(ownerOf(ro), spec.Routers(ro), spec.Policy{}), func(r traffic.Router) bool {
		return !slices.ContainsFunc(r.Refs(), func(ref traffic.Ref) bool { return ref.Key() == key })
	})
}

// Written is the object of a write. Without from it was created, without to deleted.
func Written(from, to *unstructured.Unstructured) traffic.Key {
	if to != nil {
		return traffic.KeyOf(to)
	}
	return traffic.KeyOf(from)
}

func ownerOf(ro *v1alpha1.Rollout) traffic.Owner {
	return traffic.Owner{Namespace: ro.Namespace, Name: ro.Name, UID: ro.UID}
}
