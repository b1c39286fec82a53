package controller

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim"
)

// Only the first requests of a Service wait for its EndpointSlices: nothing that takes requests away does, nor what changes a share.
func TestFirstRequests(t *testing.T) {
	weights := func(canary, stable int32) *v1alpha1.TrafficWeights {
		return &v1alpha1.TrafficWeights{
			Canary: v1alpha1.WeightDestination{ServiceName: "web-canary", Weight: canary}, Stable: v1alpha1.WeightDestination{ServiceName: "web-stable", Weight: stable},
		}
	}
	plain, header := sim.HTTPRoute("web", "web-stable"), sim.HTTPRoute("web", "web-stable")
	rules, _, _ := unstructured.NestedSlice(header.Object, "spec", "rules")
	rules = append([]any{map[string]any{"name": "beta", "backendRefs": []any{map[string]any{"name": "web-canary"}}}}, rules...)
	if err := unstructured.SetNestedSlice(header.Object, rules, "spec", "rules"); err != nil {
		t.Fatal(err)
	}
	write := change.WriteRoute{From: plain, To: plain}
	for name, row := range map[string]struct {
		was, is   *v1alpha1.TrafficWeights
		abort     bool
		available int32
		route     []change.Change
		want      string
	}{
		"the first weight":                   {weights(0, 100), weights(25, 75), false, 1, []change.Change{write}, "web-canary web-b"},
		"the first weight of all":            {nil, weights(25, 75), false, 1, []change.Change{write}, "web-canary web-b, web-stable web-a"},
		"another weight":                     {weights(25, 75), weights(50, 50), false, 1, []change.Change{write}, ""},
		"the weight goes":                    {weights(25, 75), weights(0, 100), false, 1, []change.Change{change.WriteRoute{From: plain, To: header}}, ""},
		"the stable Service comes back":      {weights(100, 0), weights(50, 50), true, 1, []change.Change{write}, "web-stable web-a"},
		"a header route":                     {weights(0, 100), weights(0, 100), false, 1, []change.Change{change.WriteRoute{From: plain, To: header}}, "web-canary web-b"},
		"a route of its own":                 {weights(0, 100), weights(0, 100), false, 1, []change.Change{change.WriteRoute{To: header}}, "web-canary web-b"},
		"a header route goes":                {weights(0, 100), weights(0, 100), false, 1, []change.Change{change.WriteRoute{From: header, To: plain}}, ""},
		"a header route in an abort":         {weights(0, 100), weights(0, 100), true, 1, []change.Change{change.WriteRoute{From: plain, To: header}}, ""},
		"no pod is available":                {weights(0, 100), weights(25, 75), false, 0, []change.Change{write}, ""},
		"no route changes":                   {weights(0, 100), weights(25, 75), false, 1, nil, "web-canary web-b"}, // not asked: see firstRoute
		"the Service is pointed at the rest": {weights(0, 100), weights(25, 75), false, 1, []change.Change{change.UpdateService{From: selecting("web-canary", "b"), To: selecting("web-canary", "a")}, write}, "web-canary web-a"},
	} {
		t.Run(name, func(t *testing.T) {
			ro := &v1alpha1.Rollout{}
			ro.Status.Canary.Weights = row.was
			to := ro.DeepCopy()
			to.Status.Canary.Weights, to.Status.Abort = row.is, row.abort
			seen := plan.Observed{Rollout: ro, Services: []*corev1.Service{selecting("web-canary", "b"), selecting("web-stable", "a")}, ReplicaSets: []*appsv1.ReplicaSet{versionOf("a", 4), versionOf("b", row.available)}}
			var got []string
			for _, s := range sendings(seen, plan.Plan{Route: row.route, Record: &plan.Record{From: ro, To: to}}) {
				got = append(got, s.service+" "+s.set.Name)
			}
			if text := strings.Join(got, ", "); text != row.want {
				t.Errorf("%q, want %q", text, row.want)
			}
		})
	}
	for _, changes := range [][]change.Change{nil, {change.UpdateService{}}, {change.WriteRoute{From: plain}}, {change.WriteRoute{To: plain, Release: true}}} {
		if firstRoute(changes) != len(changes) {
			t.Errorf("%v sends requests", changes)
		}
	}
}

// An endpoint counts if it is a ready pod of the version. A Service that was pointed elsewhere a moment ago still lists pods of another one.
func TestReadyPodOfAVersion(t *testing.T) {
	pod := func(name string, ready *bool) discoveryv1.Endpoint {
		return discoveryv1.Endpoint{TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: name}, Conditions: discoveryv1.EndpointConditions{Ready: ready}}
	}
	long := strings.Repeat("x", 70)
	for name, row := range map[string]struct {
		set      string
		endpoint discoveryv1.Endpoint
		want     bool
	}{
		"ready":                 {"web-b", pod("web-b-12345", new(true)), true},
		"nobody says":           {"web-b", pod("web-b-12345", nil), true},
		"not ready, or ending":  {"web-b", pod("web-b-12345", new(false)), false},
		"of another version":    {"web-b", pod("web-a-12345", new(true)), false},
		"of a name that begins": {"web-b", pod("web-b2-12345", new(true)), false},
		"a long name":           {long, pod(long[:58]+"12345", new(true)), true},
		"no pod":                {"web-b", discoveryv1.Endpoint{}, false},
	} {
		set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: row.set}}
		if got := isReadyPodOf(row.endpoint, set); got != row.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
