package controller_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/traffic/nginx"
)

// labeled is a Rollout that the cluster controller of a test manages.
func labeled(manifest string, of *playtest.Namespace) string {
	return strings.Replace(manifest, "metadata: {name: web}", fmt.Sprintf("metadata: {name: web, labels: {%s: %s}}", v1alpha1.InstanceIDLabel, of.Name), 1)
}

// TestAttackByMaxTrafficWeight is S4 of the security review: no loop is as long as a spec says. Neither the update of a neighbor nor the
// Rollout itself waits where a weight counts up to a million and nothing is known of what is in force; more than a million is refused.
func TestAttackByMaxTrafficWeight(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	neighbor := ns.Neighbor()
	createServices(t, ns, "web-canary", "web-stable")
	manifest := func(name string, most int) string {
		m := routed(2, fmt.Sprintf("{nginx: {stableIngress: %s}, maxTrafficWeight: %d}", name, most), "[{setWeight: 20}, {pause: {}}]", "")
		m = strings.Replace(m, "template:\n    metadata: {labels: {app: web}}", "template:\n    metadata: {labels: {app: web}, annotations: {playground.sluice.dev/ready-after: never}}", 1)
		return strings.Replace(labeled(m, ns), "name: web,", "name: "+name+",", 1)
	}
	var refused v1alpha1.Rollout
	if err := yaml.UnmarshalStrict([]byte(manifest("huge", 2147483646)), &refused); err != nil {
		t.Fatal(err)
	}
	refused.Namespace = ns.Name
	if err := ns.Client.Create(t.Context(), &refused); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "maxTrafficWeight must be 1000000 or less") {
		t.Errorf("maxTrafficWeight 2147483646: %v, want it refused with a remedy", err)
	}

	ns.StartClusterController("--rollout-threads=1")
	culprits := []string{"first", "second"}
	for _, name := range culprits {
		createObject(t, ns, sim.Ingress(name, "web-stable"))
		ns.CreateRollout(manifest(name, 1_000_000))
		ns.WaitForRollout(name, "to record a weight", weightIs(0))
	}
	for _, name := range culprits {
		ns.Patch(name, `{"spec":{"strategy":{"canary":{"trafficRouting":{"nginx":{"canaryIngressAnnotations":{"nginx.ingress.kubernetes.io/canary-by-header":"X-Canary"}}}}}}}`)
	}
	neighbor.CreateRollout(labeled(canary(2, "{steps: [{setWeight: 50}]}"), ns))
	neighbor.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	for _, name := range culprits {
		ns.WaitForRoute(nginx.GVK, nginx.CanaryName(name, name), "to follow the spec", func(o *unstructured.Unstructured) bool {
			return o.GetAnnotations()["nginx.ingress.kubernetes.io/canary-by-header"] == "X-Canary"
		})
	}
}

// TestAttackOnARouteOfAnotherNamespace is S2 of the security review: a Rollout that names the route of another namespace changes nothing
// there, and learns nothing about it, until the owner of the route lets it.
func TestAttackOnARouteOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	victim := ns.Neighbor()
	createServices(t, ns, "web-canary", "web-stable")
	payments := sim.HTTPRoute("payments", "payments")
	payments.SetLabels(map[string]string{"external-dns": "enabled", "team": "b"})
	createObject(t, victim, payments)

	ns.StartClusterController()
	router := fmt.Sprintf(`{gatewayAPI: {httpRoutes: [{name: payments}, {name: nothing}], namespace: %s, inProgressLabelKey: external-dns, inProgressLabelValue: enabled}}`, victim.Name)
	ns.CreateRollout(labeled(routed(1, router, `[{setWeight: 20}, {pause: {}}]`, ""), ns))
	told := func(kind, name string) func(*v1alpha1.Rollout) bool {
		return func(ro *v1alpha1.Rollout) bool {
			for _, c := range ro.Status.Conditions {
				if c.Type == v1alpha1.ConditionInvalidSpec && strings.Contains(c.Message, fmt.Sprintf("%s %q belongs to namespace %s, whose routes this Rollout may not use", kind, name, victim.Name)) {
					return true
				}
			}
			return false
		}
	}
	ns.WaitForRollout("web", "to be told the same of a route that exists and one that does not", both(told("HTTPRoute", "payments"), told("HTTPRoute", "nothing")))
	ns.Patch("web", `{"spec":{"strategy":{"canary":{"trafficRouting":{"gatewayAPI":{"inProgressLabelKey":"team","inProgressLabelValue":"attacker"}}}}}}`)
	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to have been reconciled", playtest.Observed)
	untouched := func(o *unstructured.Unstructured) bool {
		return o.GetResourceVersion() == payments.GetResourceVersion()
	}
	victim.WaitForRoute(payments.GroupVersionKind(), "payments", "to be as it was", untouched)

	// The owner of another route lets the namespace use it.
	shared := sim.HTTPRoute("nothing", "web-stable")
	shared.SetAnnotations(map[string]string{v1alpha1.RolloutNamespacesAnnotation: ns.Name})
	if err := unstructured.SetNestedSlice(shared.Object, []any{map[string]any{
		"matches":     []any{map[string]any{"path": map[string]any{"type": "PathPrefix", "value": "/"}}},
		"backendRefs": []any{map[string]any{"name": "web-stable", "namespace": ns.Name, "port": int64(80)}},
	}}, "spec", "rules"); err != nil {
		t.Fatal(err)
	}
	createObject(t, victim, shared)
	ns.Patch("web", `{"spec":{"strategy":{"canary":{"trafficRouting":{"gatewayAPI":{"httpRoutes":[{"name":"nothing"}]}}}}}}`)
	ns.WaitForRollout("web", "to pause at 20 %", both(playtest.Paused, weightIs(20)))
	victim.WaitForRoute(shared.GroupVersionKind(), "nothing", "to be split", func(o *unstructured.Unstructured) bool {
		return weights(20, 80)(o) && o.GetLabels()["team"] == "attacker"
	})
	victim.WaitForRoute(payments.GroupVersionKind(), "payments", "to be as it was", untouched)

	// What the Rollout has recorded it takes out again when the spec does not name the route any more.
	ns.WaitForRollout("web", "to have recorded the route", func(ro *v1alpha1.Rollout) bool {
		return ro.Annotations[v1alpha1.RoutesElsewhereAnnotation] == fmt.Sprintf("httproute/%s/nothing", victim.Name)
	})
	ns.Patch("web", `{"spec":{"strategy":{"canary":{"trafficRouting":null}}}}`)
	victim.WaitForRoute(shared.GroupVersionKind(), "nothing", "to be released", func(o *unstructured.Unstructured) bool {
		return o.GetAnnotations()[v1alpha1.GatewayAPINotesAnnotation] == "" && o.GetLabels()["team"] == ""
	})
	ns.WaitForRollout("web", "to forget the route", func(ro *v1alpha1.Rollout) bool {
		return ro.Annotations[v1alpha1.RoutesElsewhereAnnotation] == ""
	})
}

// TestARouteThatCannotBeReleasedHoldsNothingElse is S3 within a namespace: the API server refuses to release a route that carries a forged note,
// and the Rollout that it names is updated all the same, with a condition that says which route to correct.
func TestARouteThatCannotBeReleasedHoldsNothingElse(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	trap := noted(t, "trap", ns.Name)
	createObject(t, ns, trap)

	ns.StartClusterController()
	ns.CreateRollout(labeled(canary(2, "{steps: [{setWeight: 50}]}"), ns))
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to be updated", both(playtest.Healthy, revision("2")))
	ns.WaitForRollout("web", "to report the route", func(ro *v1alpha1.Rollout) bool {
		return slices.ContainsFunc(ro.Status.Conditions, func(c v1alpha1.RolloutCondition) bool {
			return c.Type == v1alpha1.ConditionRouteReleaseFailure && strings.Contains(c.Message, `HTTPRoute "trap"`)
		})
	})
	var told corev1.EventList
	if err := ns.Client.List(t.Context(), &told, client.InNamespace(ns.Name)); err != nil {
		t.Fatal(err)
	}
	for _, e := range told.Items {
		if e.Reason == v1alpha1.ReasonWriteRefused {
			t.Errorf("the Rollout counted as held up: %s", e.Message)
		}
	}
}

// TestAttackByNotesOnRoutes is S3 of the security review: what a tenant notes on its own route holds up no Rollout of another namespace, even
// where the tenant lets it use the route.
func TestAttackByNotesOnRoutes(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	victim := ns.Neighbor()
	trap := noted(t, "trap", victim.Name)
	createObject(t, ns, trap)

	ns.StartClusterController("--gateway-route-namespaces=*")
	victim.CreateRollout(labeled(canary(2, "{steps: [{setWeight: 50}]}"), ns))
	victim.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	victim.SetImage("web", "nginx:2")
	victim.WaitForRollout("web", "to be updated", both(playtest.Healthy, revision("2")))
	ns.WaitForRoute(trap.GroupVersionKind(), trap.GetName(), "to be as it was", func(o *unstructured.Unstructured) bool {
		return o.GetResourceVersion() == trap.GetResourceVersion()
	})
}

// noted is a route with notes of the Rollout web in a namespace, which cannot be released: the API server takes none without a rule.
func noted(t *testing.T, name, namespace string) *unstructured.Unstructured {
	t.Helper()
	route := sim.HTTPRoute(name, "web")
	route.SetAnnotations(map[string]string{
		v1alpha1.GatewayAPINotesAnnotation:   fmt.Sprintf(`{"%s/web":{"label":"x"}}`, namespace),
		v1alpha1.RolloutNamespacesAnnotation: "*",
	})
	rule := map[string]any{"name": fmt.Sprintf("sluice.%s.web.r", namespace), "backendRefs": []any{map[string]any{"name": "web", "port": int64(80)}}}
	if err := unstructured.SetNestedSlice(route.Object, []any{rule}, "spec", "rules"); err != nil {
		t.Fatal(err)
	}
	return route
}
