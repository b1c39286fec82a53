package world_test

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// A cache lists objects in any order, and shares them: the world has them by name, and leaves the list as it is.
func TestTheOrderOfACacheIsNotSeen(t *testing.T) {
	o := world.Observed{Rollout: &v1alpha1.Rollout{}}
	for _, name := range []string{"web-2-3", "web-2", "web-1"} {
		o.AnalysisRuns = append(o.AnalysisRuns, &v1alpha1.AnalysisRun{ObjectMeta: metav1.ObjectMeta{Name: name}})
		o.Experiments = append(o.Experiments, &v1alpha1.Experiment{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	w := world.New(o, spec.Rollout{})
	sorted := []string{"web-1", "web-2", "web-2-3"}
	if got := names(w.AnalysisRuns); !slices.Equal(got, sorted) {
		t.Errorf("the AnalysisRuns are %q, not %q", got, sorted)
	}
	if got := names(w.Experiments); !slices.Equal(got, sorted) {
		t.Errorf("the Experiments are %q, not %q", got, sorted)
	}
	if o.AnalysisRuns[0].Name != "web-2-3" || o.Experiments[0].Name != "web-2-3" {
		t.Error("the cache's own list is sorted")
	}
}

func names[T metav1.Object](objects []T) []string {
	var names []string
	for _, o := range objects {
		names = append(names, o.GetName())
	}
	return names
}
