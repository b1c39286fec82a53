package plan_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/sim/script"
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
	if p.Record == nil {
		t.Fatal("there is no record")
	}
	if text, stays := p.Record.To.Annotations[v1alpha1.RoutesElsewhereAnnotation]; stays {
		t.Errorf("the annotation stays: %q", text)
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
	o.Routes = inEdge(routes)

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

// inEdge are routes as they would be in the namespace edge.
func inEdge(routes traffic.Objects) traffic.Objects {
	moved := traffic.Objects{}
	for _, route := range routes {
		route = route.DeepCopy()
		route.SetNamespace("edge")
		for _, rule := range route.Object["spec"].(map[string]any)["rules"].([]any) {
			for _, ref := range rule.(map[string]any)["backendRefs"].([]any) {
				ref.(map[string]any)["namespace"] = "default"
			}
		}
		moved[traffic.KeyOf(route)] = route
	}
	return moved
}

// A route that cannot be released is reported with its namespace, where that is another, for as long as it is not tried again.
func TestARefusedReleaseElsewhere(t *testing.T) {
	o := played(t, `rollout web replicas=2 router=gateway steps="weight 50; pause"`, "settle", "set image v2", "settle")
	o.Policy.RouteNamespaces = []string{spec.AnyNamespace}
	o.Rollout = o.Rollout.DeepCopy()
	o.Rollout.Spec.Strategy.Canary.TrafficRouting = nil
	o.Rollout.Annotations = map[string]string{v1alpha1.RoutesElsewhereAnnotation: "httproute/edge/web"}
	o.Routes = inEdge(o.Routes)
	for name, row := range map[string]struct {
		refused time.Duration
		tried   bool
	}{
		"a moment ago":         {time.Second, false},
		"almost half a minute": {30*time.Second - 1, false},
		"half a minute ago":    {30 * time.Second, true},
	} {
		o.RouteRefusals = map[string]change.Refusal{"httproute/edge/web": {Message: "not today", At: o.Now.Add(-row.refused)}}
		p := plan.Next(o)
		if tried := len(p.Route) > 0; tried != row.tried {
			t.Errorf("refused %s: it is released now: %v", name, tried)
		}
		if p.Record == nil || !strings.Contains(conditionText(p.Record.To), `HTTPRoute "web" of namespace edge: not today`) {
			t.Errorf("refused %s: it is not reported by its namespace: %+v", name, p.Record)
		} else if recorded := p.Record.To.Annotations[v1alpha1.RoutesElsewhereAnnotation]; recorded != "httproute/edge/web" {
			t.Errorf("refused %s: recorded is %q, while it holds something of the Rollout", name, recorded)
		}
		if wake := o.Now.Add(30*time.Second - row.refused); !row.tried && !p.Wake.Equal(wake) {
			t.Errorf("refused %s: the next reconcile is at %s, not %s", name, p.Wake, wake)
		}
	}
}

func conditionText(ro *v1alpha1.Rollout) string {
	var all []string
	for _, c := range ro.Status.Conditions {
		all = append(all, c.Message)
	}
	return strings.Join(all, "\n")
}
