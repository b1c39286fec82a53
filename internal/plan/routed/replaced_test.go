package routed

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/draft"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// A canary Service that the spec names no more keeps its part while routes send to a superseded version through it, which has pods. What the update
// itself or the stable version has of it can be had under the new name at once.
func TestTheReplacedCanaryService(t *testing.T) {
	for name, row := range map[string]struct {
		enforced bool
		weight   int32
		selects  string
		pods     int32
		replaced bool
	}{
		"a superseded version":                     {true, 20, "older", 1, true},
		"a superseded version, with room for both": {false, 20, "older", 1, false},
		"a superseded version, without traffic":    {true, 0, "older", 1, false},
		"a superseded version, without pods":       {true, 20, "older", 0, false},
		"the new version":                          {true, 20, "new", 1, false},
		"the stable version":                       {true, 20, "stable", 1, false},
		"the pods of all":                          {true, 20, "", 1, false},
	} {
		o := world.Observed{Rollout: &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Name: "web"}}}
		o.Rollout.Status = v1alpha1.RolloutStatus{StableRS: "stable", CurrentPodHash: "new"}
		o.Rollout.Status.Canary.Weights = &v1alpha1.TrafficWeights{Canary: v1alpha1.WeightDestination{ServiceName: "before", Weight: row.weight}}
		for _, hash := range []string{"new", "stable", "older"} {
			set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: hash, Labels: map[string]string{v1alpha1.PodTemplateHashLabel: hash}}}
			set.Spec.Replicas, set.Status.AvailableReplicas = &row.pods, row.pods
			o.ReplicaSets = append(o.ReplicaSets, set)
		}
		before := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "before", Annotations: map[string]string{v1alpha1.ManagedByAnnotation: "web"}}}
		before.Spec.Selector = map[string]string{v1alpha1.PodTemplateHashLabel: row.selects}
		o.Services = []*corev1.Service{before}
		w, j := world.New(o, spec.Rollout{PodHash: "new", Replicas: 1, Strategy: spec.Canary{}}), &change.Journal{}
		u := progress.New(w, j)
		_, r := New(w, u, draft.New(w, u, j), nil, j, spec.Canary{Traffic: &spec.Traffic{EnforceMaxSurge: row.enforced}, CanaryService: spec.Reference{Name: "canary"}})
		if ref, replaced := r.replacedCanaryService(); replaced != row.replaced || replaced && ref.Name != "before" {
			t.Errorf("%s: %q replaces the canary Service: %t", name, ref.Name, replaced)
		}
	}
}
