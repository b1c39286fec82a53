package plan

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

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
	for key := range recordedElsewhere(ro) {
		keys[key] = true
	}
	return keys
}

func recordedElsewhere(ro *v1alpha1.Rollout) map[traffic.Key]bool {
	keys := map[traffic.Key]bool{}
	for entry := range strings.SplitSeq(ro.Annotations[v1alpha1.RoutesElsewhereAnnotation], ",") {
		if key, ok := routers.ParseKey(entry); ok && key.Namespace != ro.Namespace && len(keys) < mostElsewhere {
			keys[key] = true
		}
	}
	return keys
}

// maySee reports whether notes on a route may concern this Rollout.
func (p *pass) maySee(key traffic.Key) bool {
	return key.Namespace == p.Rollout.Namespace || p.elsewhere[key]
}

// isRecorded reports whether the record names all routes of other namespaces that routers are about to write: what no record names would
// stay there for ever if the spec changed.
func (p *pass) isRecorded(named []traffic.Router) bool {
	recorded := recordedElsewhere(p.Rollout)
	for key := range p.namedElsewhere(named) {
		if !recorded[key] {
			return false
		}
	}
	return true
}

func (p *pass) namedElsewhere(named []traffic.Router) map[traffic.Key]bool {
	keys := map[traffic.Key]bool{}
	for _, router := range named {
		for _, ref := range router.Refs() {
			if p.elsewhere[ref.Key()] {
				keys[ref.Key()] = true
			}
		}
	}
	return keys
}

// recordElsewhere records on the Rollout which routes of other namespaces it names, and which others hold something of its still.
func (p *pass) recordElsewhere(named []traffic.Router) {
	wanted := p.namedElsewhere(named)
	owner := types.NamespacedName{Namespace: p.Rollout.Namespace, Name: p.Rollout.Name}
	for key := range recordedElsewhere(p.Rollout) {
		if o := p.Routes[key]; o != nil && slices.Contains(routers.Owners(o, p.Policy), owner) {
			wanted[key] = true
		}
	}
	var entries []string
	for _, key := range slices.SortedFunc(maps.Keys(wanted), compareKeys) {
		entries = append(entries, routers.FormatKey(key))
	}
	if text := strings.Join(entries, ","); text != p.Rollout.Annotations[v1alpha1.RoutesElsewhereAnnotation] {
		p.annotations[v1alpha1.RoutesElsewhereAnnotation] = text
	}
}
