package plan_test

import (
	"testing"

	"github.com/sluice-delivery/sluice/internal/sim/script"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// A route of another namespace is recorded for as long as it holds something of the Rollout: not when it is gone, nor when it holds only what
// others put there.
func TestRoutesElsewhereAreForgotten(t *testing.T) {
	script := script.New()
	for _, line := range []string{"rollout web replicas=1", "settle"} {
		if _, err := script.Run(line); err != nil {
			t.Fatal(err)
		}
	}
	o := script.World.Observe(sim.View{})
	o.Rollout = o.Rollout.DeepCopy()
	o.Rollout.Annotations = map[string]string{v1alpha1.RoutesElsewhereAnnotation: "httproute/edge/gone,httproute/edge/theirs"}
	theirs := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": map[string]any{"namespace": "edge", "name": "theirs"},
	}}
	o.Routes = traffic.Objects{traffic.KeyOf(theirs): theirs}
	p := plan.Next(o)
	if p.Record == nil || p.Record.To.Annotations[v1alpha1.RoutesElsewhereAnnotation] != "" {
		t.Errorf("the record stays: %+v", p.Record)
	}
	if len(p.Route) > 0 {
		t.Errorf("someone else's route is written: %+v", p.Route)
	}
}
