package controller_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/traffic/ambassador"
	"github.com/sluice-delivery/sluice/internal/traffic/proxy"
	"github.com/sluice-delivery/sluice/internal/traffic/smi"
)

// listed are routers whose weights stand in one object that lists both Services, or in the canary's.
var listed = map[string]struct {
	yaml string
	// made is the object that people make, nil if the router makes its own.
	made *unstructured.Unstructured
	// kind and name of the object with the weights.
	kind schema.GroupVersionKind
	name string
	// reverted is a merge patch that sends nothing to the canary, as a GitOps tool would write it.
	reverted string
}{
	"istio": {
		yaml: `{istio: {virtualService: {name: web}}}`, made: sim.VirtualService("web", "web-stable", "web-canary"),
		reverted: `{"spec":{"http":[{"route":[{"destination":{"host":"web-stable"},"weight":100},{"destination":{"host":"web-canary"},"weight":0}]}]}}`,
	},
	"traefik": {
		yaml: `{traefik: {weightedTraefikServiceName: web}}`, made: sim.TraefikService("web", "web-stable", "web-canary"),
		reverted: `{"spec":{"weighted":{"services":[{"name":"web-stable","port":80,"weight":100},{"name":"web-canary","port":80,"weight":0}]}}}`,
	},
	"alb": {
		yaml: `{alb: {ingress: web, servicePort: 80}}`, made: sim.ALBIngress("web", "web-stable", ""),
		reverted: `{"metadata":{"annotations":{"alb.ingress.kubernetes.io/actions.web-stable":null,"rollouts.argoproj.io/managed-alb-annotations":null}}}`,
	},
	"apisix": {
		yaml: `{apisix: {route: {name: web}}}`, made: sim.ApisixRoute("web", "web-stable", "web-canary"),
		reverted: `{"spec":{"http":[{"name":"web","match":{"paths":["/*"]},"backends":[{"serviceName":"web-stable","servicePort":80,"weight":100},{"serviceName":"web-canary","servicePort":80,"weight":0}]}]}}`,
	},
	"smi": {
		yaml: `{smi: {}}`, kind: smi.GVK,
		reverted: `{"spec":{"backends":[{"service":"web-canary","weight":0},{"service":"web-stable","weight":100}]}}`,
	},
	"custom": {
		yaml:     `{custom: [{apiVersion: projectcontour.io/v1, kind: HTTPProxy, name: web, weights: [{destinations: "spec.routes[*].services", service: entry.name}]}]}`,
		made:     sim.HTTPProxy("web", "web-stable", "web-canary"),
		reverted: `{"spec":{"routes":[{"services":[{"name":"web-stable","port":80,"weight":100},{"name":"web-canary","port":80,"weight":0}]}]}}`,
	},
	"ambassador": {
		yaml: `{ambassador: {mappings: [web]}}`, made: sim.Mapping("web", "web-stable", ""), kind: ambassador.GVK, name: "web-canary",
		reverted: `{"spec":{"weight":0}}`,
	},
}

const listedMore = "scaleDownDelaySeconds: 1, abortScaleDownDelaySeconds: 1, maxUnavailable: 1"

// Routers whose object lists both Services, with their real CRDs: the whole story, and drift that is undone.
func TestRoutersThatListServicesFromEndToEnd(t *testing.T) {
	t.Parallel()
	for key, router := range listed {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			ns := playtest.New(t)
			createServices(t, ns, "web-canary", "web-stable")
			if router.made != nil {
				createObject(t, ns, router.made.DeepCopy())
			}
			tellStory(t, ns, routed(4, router.yaml, twoWeights, listedMore), false)

			ns.SetImage("web", "nginx:4")
			ns.WaitForRollout("web", "to pause at 25 %", both(playtest.AtStep(1), playtest.Paused, weightIs(25)))
			gvk, name, drifted := router.kind, router.name, ""
			if name == "" {
				name = "web"
			}
			if gvk.Kind == "" {
				gvk = router.made.GroupVersionKind()
			}
			shows := func(o *unstructured.Unstructured) bool {
				weights, ok := proxy.Weights(o)
				return ok && weights["web-canary"] == 25 && weights["web-stable"] == 75 && o.GetResourceVersion() != drifted
			}
			ns.WaitForRoute(gvk, name, "to send 25 % to the canary", shows)
			if told := strings.Join(ns.Events("web"), "\n"); strings.Contains(told, v1alpha1.EventRouteRestored) {
				t.Errorf("nobody has changed a route: %s", told)
			}
			o := &unstructured.Unstructured{}
			o.SetGroupVersionKind(gvk)
			o.SetNamespace(ns.Name)
			o.SetName(name)
			if err := ns.Client.Patch(t.Context(), o, client.RawPatch("application/merge-patch+json", []byte(router.reverted))); err != nil {
				t.Fatal(err)
			}
			drifted = o.GetResourceVersion()
			if shows(o) {
				t.Fatal("nothing has drifted")
			}
			ns.WaitForRoute(gvk, name, "to send 25 % to the canary again", shows)
			ns.WaitForEvents("web", "RouteRestored Restored "+gvk.Kind+" \""+name+"\": someone else changed what this Rollout sets there")
			if ro := ns.Rollout("web"); ro.Status.Phase == v1alpha1.RolloutPhaseDegraded {
				t.Errorf("the drift has broken the update: %s", ro.Status.Message)
			}
		})
	}
}

// A controller that is killed with kill -9 while it moves traffic is continued by the next one, which breaks no promise either.
func TestRoutersThatListServicesKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	for key, router := range listed {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(4, uint64(len(key))))
			ns := playtest.New(t)
			createServices(t, ns, "web-canary", "web-stable")
			if router.made != nil {
				createObject(t, ns, router.made.DeepCopy())
			}
			ns.StartController()
			ns.CreateRollout(routed(4, router.yaml, `[{setWeight: 25}, {pause: {duration: 1}}, {setWeight: 75}, {pause: {duration: 1}}]`, listedMore))
			ns.WaitForRollout("web", "to be Healthy", settledOn("1", 4))
			history := ns.Record()
			for image := 2; image <= 3; image++ {
				ns.SetImage("web", fmt.Sprintf("nginx:%d", image))
				history.KillWhileMoving(random, 3, 8)
			}
			ns.WaitForRollout("web", "to be Healthy on the last version", settled(4))
			promise{replicas: 4, maxUnavailable: 1}.check(t, history.Stop())
		})
	}
}
