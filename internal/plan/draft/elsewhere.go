package draft

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

// IsRecorded reports whether the status names every route in other namespaces that the routers are about to write. A route that is not
// recorded would never be cleaned up if the spec changed.
func (d *Draft) IsRecorded(named []traffic.Router) bool {
	recorded := world.RecordedElsewhere(d.world.Rollout)
	for key := range d.namedElsewhere(named) {
		if !recorded[key] {
			return false
		}
	}
	return true
}

func (d *Draft) namedElsewhere(named []traffic.Router) map[traffic.Key]bool {
	keys := map[traffic.Key]bool{}
	for _, router := range named {
		for _, ref := range router.Refs() {
			if d.world.Elsewhere[ref.Key()] {
				keys[ref.Key()] = true
			}
		}
	}
	return keys
}

// RecordElsewhere records on the Rollout which routes of other namespaces it names, and which others hold something of its still.
func (d *Draft) RecordElsewhere(named []traffic.Router) {
	wanted := d.namedElsewhere(named)
	owner := types.NamespacedName{Namespace: d.world.Rollout.Namespace, Name: d.world.Rollout.Name}
	for key := range world.RecordedElsewhere(d.world.Rollout) {
		if o := d.world.Routes[key]; o != nil && slices.Contains(routers.Owners(o, d.world.Policy), owner) {
			wanted[key] = true
		}
	}
	var entries []string
	for _, key := range slices.SortedFunc(maps.Keys(wanted), world.CompareKeys) {
		entries = append(entries, routers.FormatKey(key))
	}
	if text := strings.Join(entries, ","); text != d.world.Rollout.Annotations[v1alpha1.RoutesElsewhereAnnotation] {
		d.update.Annotations[v1alpha1.RoutesElsewhereAnnotation] = text
	}
}
