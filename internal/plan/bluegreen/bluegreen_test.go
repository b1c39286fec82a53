package bluegreen

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// The event at the end says how the update came to it.
func TestHowItCompleted(t *testing.T) {
	at := func(second int64) *world.Version {
		return &world.Version{ReplicaSet: &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.Unix(second, 0)}}}
	}
	for name, row := range map[string]struct {
		window         int
		fast, promoted bool
		want           string
	}{
		"with all gates": {0, false, false, "Completed blue-green update"},
		"with all gates, in a window set meanwhile": {1, false, false, "Completed blue-green update"},
		"back to what still had its pods":           {0, true, false, "Fast rollback"},
		"back to what is within the window":         {1, true, false, "Rollback within window"},
		"promoted in full":                          {1, true, true, "Full promotion requested"},
	} {
		w := world.New(world.Observed{Rollout: &v1alpha1.Rollout{Status: v1alpha1.RolloutStatus{StableRS: "a", CurrentPodHash: "b", PromoteFull: row.promoted}}}, spec.Rollout{RollbackWindow: row.window})
		w.New, w.Stable = at(10), at(60)
		u := progress.New(w, &change.Journal{})
		u.Fast = row.fast
		if got := New(w, u, nil, nil, spec.BlueGreen{}).Completed(); got != row.want {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}

// What the active Service was left with keeps it for as long as it serves, or while the stable version does not either.
func TestWhoServesStill(t *testing.T) {
	for name, row := range map[string]struct {
		third, stable int32 // available pods
		want          string
	}{
		"both serve":                  {1, 1, "third"},
		"the stable version does":     {0, 1, "stable"},
		"the third does":              {1, 0, "third"},
		"neither does, so it goes on": {0, 0, "third"},
	} {
		o := world.Observed{Rollout: &v1alpha1.Rollout{Status: v1alpha1.RolloutStatus{StableRS: "stable", CurrentPodHash: "new", BlueGreen: v1alpha1.BlueGreenStatus{ActiveSelector: "third"}}}}
		for hash, available := range map[string]int32{"new": 0, "stable": row.stable, "third": row.third} {
			set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: hash, Labels: map[string]string{v1alpha1.PodTemplateHashLabel: hash}}}
			set.Spec.Replicas, set.Status.AvailableReplicas = new(int32(1)), available
			o.ReplicaSets = append(o.ReplicaSets, set)
		}
		o.Services = []*corev1.Service{{ObjectMeta: metav1.ObjectMeta{Name: "active"}, Spec: corev1.ServiceSpec{Selector: map[string]string{v1alpha1.PodTemplateHashLabel: "third"}}}}
		w := world.New(o, spec.Rollout{PodHash: "new", Replicas: 1})
		p := New(w, progress.New(w, &change.Journal{}), nil, nil, spec.BlueGreen{ActiveService: "active"})
		if got := p.ServesStill().Version; got == nil || got.Hash != row.want {
			t.Errorf("%s: %v, want %s", name, got, row.want)
		}
	}
}
