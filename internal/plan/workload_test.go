package plan_test

import (
	"testing"
	"time"

	"github.com/sluice-delivery/sluice/internal/sim/script"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim"
)

// TestDeploymentWithoutANumberHasOnePod: an API server fills the number in, but a client that reads an object need not have got it from one.
func TestDeploymentWithoutANumberHasOnePod(t *testing.T) {
	for name, test := range map[string]struct {
		replicas *int32
		carried  int32
		want     int // how often it is scaled
	}{
		"no number":                       {nil, 2, 1},
		"no number, while one is to stay": {nil, 1, 0},
		"one":                             {new(int32(1)), 2, 1},
		"two, while one is to stay":       {new(int32(2)), 1, 1},
		"none":                            {new(int32(0)), 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			script := script.New()
			for _, line := range []string{"rollout web replicas=2", "settle"} {
				if _, err := script.Run(line); err != nil {
					t.Fatal(err)
				}
			}
			o := script.World.Observe(sim.View{})
			deployment := &appsv1.Deployment{}
			deployment.Name, deployment.Namespace = "web", "default"
			deployment.Spec.Replicas, deployment.Spec.Selector = test.replicas, o.Rollout.Spec.Selector
			deployment.Spec.Template = o.Rollout.Spec.Template
			o.Rollout = o.Rollout.DeepCopy()
			o.Rollout.Spec.Template, o.Rollout.Spec.Selector = corev1.PodTemplateSpec{}, nil
			o.Rollout.Spec.WorkloadRef = &v1alpha1.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", ScaleDown: v1alpha1.ScaleDownProgressively}
			o.Workload, o.Now = deployment, o.Now.Add(time.Second)
			o.ReplicaSets[0] = o.ReplicaSets[0].DeepCopy()
			o.ReplicaSets[0].Status.AvailableReplicas = test.carried
			scaled := 0
			for _, c := range plan.Next(o).Shrink {
				if c, ok := c.(change.ScaleWorkload); ok && *c.To.Spec.Replicas == 2-test.carried {
					scaled++
				}
			}
			if scaled != test.want {
				t.Errorf("it is scaled to what is missing %d times, want %d: %v", scaled, test.want, plan.Next(o).Notes)
			}
		})
	}
}
