// Package world is what a pass of the engine sees: the Rollout resolved, its versions in order, Services, routes, analyses and pods. It is read
// only: what a pass decides is in the rooms above.
package world

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// World is what one pass sees.
type World struct {
	Observed
	// Spec is the Rollout's spec with its defaults, as [spec.Resolve] has it.
	Spec spec.Rollout
	Versions
	// Elsewhere are the routes of other namespaces whose notes may concern this Rollout.
	Elsewhere map[traffic.Key]bool
}

// New sorts what was observed.
func New(o Observed, r spec.Rollout) *World {
	w := &World{
		Observed:  o,
		Spec:      r,
		Versions:  sortVersions(o.ReplicaSets, r, o.Rollout.Status.CollisionCount, o.Rollout.Status.StableRS),
		Elsewhere: Elsewhere(o.Rollout),
	}
	w.AnalysisRuns, w.Experiments = byName(o.AnalysisRuns), byName(o.Experiments)
	w.correctAvailable()
	return w
}

// byName sorts objects that a cache lists in any order, so that the same is decided whatever that order is.
func byName[T metav1.Object](objects []T) []T {
	return slices.SortedFunc(slices.Values(objects), func(a, b T) int { return cmp.Compare(a.GetName(), b.GetName()) })
}
