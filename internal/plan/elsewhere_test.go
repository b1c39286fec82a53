package plan_test

import (
	"testing"

	"github.com/sluice-delivery/sluice/internal/sim/script"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/spec"
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

// A route of another namespace is written only once the Rollout records it: after a crash nobody would find it there.
func TestRoutesElsewhereAreRecordedFirst(t *testing.T) {
	script := script.New()
	run := func(line string) {
		t.Helper()
		if _, err := script.Run(line); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	run(`rollout web replicas=2 router=gateway steps="weight 50; pause"`)
	run("settle")
	routes := script.World.Routes()
	run("set image v2")
	run("settle")
	o := script.World.Observe(sim.View{})
	o.Policy.RouteNamespaces = []string{spec.AnyNamespace}
	o.Rollout = o.Rollout.DeepCopy()
	o.Rollout.Spec.Strategy.Canary.TrafficRouting.GatewayAPI.Namespace = "edge"
	o.Routes = traffic.Objects{}
	for _, route := range routes {
		route = route.DeepCopy()
		route.SetNamespace("edge")
		for _, rule := range route.Object["spec"].(map[string]any)["rules"].([]any) {
			for _, ref := range rule.(map[string]any)["backendRefs"].([]any) {
				ref.(map[string]any)["namespace"] = "default"
			}
		}
		o.Routes[traffic.KeyOf(route)] = route
	}

	first := plan.Next(o)
	if len(first.Route) > 0 {
		t.Errorf("the route is written before it is recorded: %+v", first.Route)
	}
	if first.Record == nil || first.Record.To.Annotations[v1alpha1.RoutesElsewhereAnnotation] != "httproute/edge/web" {
		t.Fatalf("the route is not recorded: %+v", first.Record)
	}
	o.Rollout = first.Record.To
	if second := plan.Next(o); len(second.Route) != 1 {
		t.Errorf("it is not written once it is recorded: %+v", second.Notes)
	}
}
