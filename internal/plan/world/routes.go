package world

import (
	"cmp"
	"strings"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

// mostElsewhere is how many routes of other namespaces a Rollout keeps a record of.
const mostElsewhere = 200

// Elsewhere are the routes of other namespaces that a Rollout names, or that it has recorded to have named. What is noted on others there is
// not its business: anybody can write notes. The record is what its tenant may have written, too; it grants nothing that the policy of
// the controller does not.
func Elsewhere(ro *v1alpha1.Rollout) map[traffic.Key]bool {
	keys := map[traffic.Key]bool{}
	for _, ref := range routers.Refs(ro) {
		if ref.Namespace != ro.Namespace && routers.Writes(ref.GroupVersionKind) {
			keys[ref.Key()] = true
		}
	}
	for key := range RecordedElsewhere(ro) {
		keys[key] = true
	}
	return keys
}

// RecordedElsewhere are the routes of other namespaces that a Rollout has recorded to have named.
func RecordedElsewhere(ro *v1alpha1.Rollout) map[traffic.Key]bool {
	keys := map[traffic.Key]bool{}
	for entry := range strings.SplitSeq(ro.Annotations[v1alpha1.RoutesElsewhereAnnotation], ",") {
		if key, ok := routers.ParseKey(entry); ok && key.Namespace != ro.Namespace && len(keys) < mostElsewhere {
			keys[key] = true
		}
	}
	return keys
}

// MaySee reports whether notes on a route may concern this Rollout.
func (w *World) MaySee(key traffic.Key) bool {
	return key.Namespace == w.Rollout.Namespace || w.Elsewhere[key]
}

// CompareKeys orders routes by kind, namespace and name.
func CompareKeys(a, b traffic.Key) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.NamespacedName.String(), b.NamespacedName.String()))
}

// RouteOwner is the Rollout as the owner of what it puts into routes.
func (w *World) RouteOwner() traffic.Owner {
	return traffic.Owner{Namespace: w.Rollout.Namespace, Name: w.Rollout.Name, UID: w.Rollout.UID}
}
