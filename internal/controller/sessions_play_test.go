package controller_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance/subjects"
	"github.com/sluice-delivery/sluice/internal/traffic/gatewayapi"
	"github.com/sluice-delivery/sluice/internal/traffic/istio"
)

// keeper is a router that keeps clients on a version.
type keeper struct {
	router     string
	gvk        schema.GroupVersionKind
	object     func() *unstructured.Unstructured
	sessions   func(traffic.Objects) []conformance.Sessions
	list       string // of the rules in its object's spec
	annotation string
}

var keepers = map[string]keeper{
	"Istio": {
		`{istio: {virtualService: {name: web}}, sessionAffinity: {cookieName: web-version, maxAgeSeconds: 600}}`, istio.VirtualService,
		func() *unstructured.Unstructured { return sim.VirtualService("web", "web-stable", "web-canary") }, subjects.SessionsOfVirtualServices,
		"http", v1alpha1.IstioNotesAnnotation,
	},
	"GatewayAPI": {
		`{gatewayAPI: {httpRoute: web}, sessionAffinity: {cookieName: web-version, maxAgeSeconds: 600}}`, gatewayapi.GVK("HTTPRoute"),
		func() *unstructured.Unstructured { return sim.HTTPRoute("web", "web-stable") }, subjects.SessionsOfRoutes,
		"rules", v1alpha1.GatewayAPINotesAnnotation,
	},
}

// TestSessionsFromEndToEnd: clients stay on their version through all weights, also when someone deletes the rules for it or the controller is killed.
// A promotion, an abort, a spec that no longer asks for it, and the end of the Rollout release them, and leave the object as people wrote it.
func TestSessionsFromEndToEnd(t *testing.T) {
	t.Parallel()
	for name, k := range keepers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := playtest.New(t)
			createServices(t, ns, "web-canary", "web-stable")
			createObject(t, ns, k.object())
			written := k.rules(t, ns)
			ns.StartController()
			rollout := ns.CreateRollout(routed(2, k.router, twoWeights, "scaleDownDelaySeconds: 1, abortScaleDownDelaySeconds: 1, maxUnavailable: 1"))
			first := ns.WaitForRollout("web", "to be Healthy", settledOn("1", 2)).Status.StableRS

			ns.SetImage("web", "nginx:2")
			second := ns.WaitForRollout("web", "to pause at 25 %", both(playtest.AtStep(1), playtest.Paused, weightIs(25))).Status.CurrentPodHash
			k.wait(ns, "to keep clients on both versions", k.keeps(first, second))
			k.deleteSession(t, ns, "canary")
			k.wait(ns, "to keep them again", k.keeps(first, second))
			ns.WaitForEvents("web", "RouteRestored")

			ns.StopController(syscall.SIGKILL)
			k.deleteSession(t, ns, "stable")
			ns.PatchStatus("web", resume)
			history := ns.Record()
			ns.StartController()
			history.KillWhileMoving(rand.New(rand.NewPCG(5, 6)), 2, 4)
			ns.WaitForRollout("web", "to pause at 75 %", both(playtest.AtStep(3), playtest.Paused, weightIs(75)))
			k.wait(ns, "to keep clients after the controller was killed", k.keeps(first, second))
			ns.PatchStatus("web", resume)
			history.KillWhileMoving(rand.New(rand.NewPCG(7, 8)), 1, 4)
			ns.WaitForRollout("web", "to be Healthy on the second version", settledOn("2", 2))
			k.wait(ns, "to release them with the promotion", k.released)
			promise{replicas: 2, maxUnavailable: 1}.check(t, history.Stop())

			ns.SetImage("web", "nginx:3")
			third := ns.WaitForRollout("web", "to pause at 25 % of the third version", both(playtest.AtStep(1), playtest.Paused, weightIs(25), revision("3"))).Status.CurrentPodHash
			k.wait(ns, "to keep clients on the next versions", k.keeps(second, third))
			ns.PatchStatus("web", `{"status":{"abort":true}}`)
			k.wait(ns, "to release them with the abort", k.released)
			ns.WaitForRollout("web", "to be back at the stable version", both(playtest.Degraded, weightIs(0), pods(2)))

			ns.PatchStatus("web", `{"status":{"abort":false}}`)
			k.wait(ns, "to keep clients again", k.keeps(second, third))
			ns.Patch("web", `{"spec":{"strategy":{"canary":{"trafficRouting":{"sessionAffinity":null}}}}}`)
			k.wait(ns, "to release them with the field", k.released)
			ns.Patch("web", `{"spec":{"strategy":{"canary":{"trafficRouting":{"sessionAffinity":{}}}}}}`)
			k.wait(ns, "to keep clients with the field", k.keeps(second, third))
			if err := ns.Client.Delete(t.Context(), rollout); err != nil {
				t.Fatal(err)
			}
			k.wait(ns, "to release them with the Rollout", func(o *unstructured.Unstructured) bool {
				return k.released(o) && o.GetAnnotations()[k.annotation] == ""
			})
			if diff := cmp.Diff(written, k.rules(t, ns)); diff != "" {
				t.Errorf("what people wrote has changed, weights apart (-before +after)\n%s", diff)
			}
		})
	}
}

func (k keeper) wait(ns *playtest.Namespace, what string, wanted func(*unstructured.Unstructured) bool) {
	ns.WaitForRoute(k.gvk, "web", what, wanted)
}

// keeps reports whether clients that have been on each of the two versions go there again.
func (k keeper) keeps(stable, canary string) func(*unstructured.Unstructured) bool {
	return func(o *unstructured.Unstructured) bool {
		places := k.sessions(conformance.Objects(o))
		return len(places) == 1 && !slices.ContainsFunc(places, func(place conformance.Sessions) bool {
			for service, hash := range map[string]string{"web-stable": stable, "web-canary": canary} {
				cookie, _, _ := strings.Cut(place.Set[service], "; ")
				if !strings.HasSuffix(cookie, "="+hash) || place.To(cookie) != service || place.To("a=b; "+cookie) != service {
					return true
				}
			}
			return place.To("web-version=other") != ""
		})
	}
}

// released reports whether there is nothing left that keeps clients.
func (k keeper) released(o *unstructured.Unstructured) bool {
	list, _, _ := unstructured.NestedSlice(o.Object, "spec", k.list)
	places := k.sessions(conformance.Objects(o))
	return len(list) == 1 && len(places) == 1 && places[0].Set["web-stable"] == "" && places[0].Set["web-canary"] == ""
}

// rules are those of the object, without weights and without the backends of the canary.
func (k keeper) rules(t *testing.T, ns *playtest.Namespace) []any {
	t.Helper()
	o := k.get(t, ns)
	list, _, err := unstructured.NestedSlice(o.Object, "spec", k.list)
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range list {
		for _, key := range []string{"route", "backendRefs"} {
			backends, _ := rule.(map[string]any)[key].([]any)
			for _, backend := range backends {
				delete(backend.(map[string]any), "weight")
			}
		}
	}
	return list
}

func (k keeper) get(t *testing.T, ns *playtest.Namespace) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(k.gvk)
	if err := ns.Client.Get(t.Context(), types.NamespacedName{Namespace: ns.Name, Name: "web"}, o); err != nil {
		t.Fatal(err)
	}
	return o
}

// deleteSession deletes the rule that keeps the clients of a version, as someone does who does not know it.
func (k keeper) deleteSession(t *testing.T, ns *playtest.Namespace, version string) {
	t.Helper()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		o := k.get(t, ns)
		list, _, _ := unstructured.NestedSlice(o.Object, "spec", k.list)
		before := len(list)
		list = slices.DeleteFunc(list, func(rule any) bool {
			name, _ := rule.(map[string]any)["name"].(string)
			return strings.Contains(name, "session.") && strings.HasSuffix(name, version)
		})
		if len(list) != before-1 {
			t.Fatalf("%d rules for the clients of the %s version, want 1", before-len(list), version)
		}
		if err := unstructured.SetNestedSlice(o.Object, list, "spec", k.list); err != nil {
			return err
		}
		return ns.Client.Update(t.Context(), o)
	})
	if err != nil {
		t.Fatal(err)
	}
}
