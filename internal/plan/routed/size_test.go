package routed

import (
	"testing"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// A step has as many pods as it says. Where they replace those of the stable version, they are at least as many as every version is to have.
func TestTheSizeThatAStepSays(t *testing.T) {
	for name, row := range map[string]struct {
		scale   spec.SetCanaryScale
		dynamic bool
		want    int32
	}{
		"a number":                   {spec.SetCanaryScale{Replicas: new(int32(1))}, false, 1},
		"a number, instead of other": {spec.SetCanaryScale{Replicas: new(int32(1))}, true, 3},
		"a large number, instead":    {spec.SetCanaryScale{Replicas: new(int32(5))}, true, 5},
		"a percentage":               {spec.SetCanaryScale{Percent: new(int32(10))}, false, 3},
	} {
		ro := &v1alpha1.Rollout{Status: v1alpha1.RolloutStatus{StableRS: "stable", CurrentPodHash: "new", CurrentStepIndex: new(int32(0))}}
		c := spec.Canary{Traffic: &spec.Traffic{DynamicStableScale: row.dynamic, MinPods: 3}, MaxWeight: 100, Steps: []spec.Step{row.scale, spec.Pause{}}}
		w := world.New(world.Observed{Rollout: ro}, spec.Rollout{Replicas: 10, Strategy: c})
		want := &Want{world: w, update: progress.New(w, nil), canary: c}
		if got, why := want.CanarySize(50); got != row.want {
			t.Errorf("%s: %d pods, want %d: %s", name, got, row.want, why)
		}
	}
}
