package controller_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/traffic/proxy"
)

// Routers whose object lists both Services, with their real CRDs: the whole story, and drift that is undone.
func TestRoutersThatListServicesFromEndToEnd(t *testing.T) {
	t.Parallel()
	for key, routing := range map[string]struct {
		yaml   string
		object *unstructured.Unstructured
	}{
		"istio":   {`{istio: {virtualService: {name: web}}}`, sim.VirtualService("web", "web-stable", "web-canary")},
		"traefik": {`{traefik: {weightedTraefikServiceName: web}}`, sim.TraefikService("web", "web-stable", "web-canary")},
		"alb":     {`{alb: {ingress: web, servicePort: 80}}`, sim.ALBIngress("web", "web-stable", "")},
		"apisix":  {`{apisix: {route: {name: web}}}`, sim.ApisixRoute("web", "web-stable", "web-canary")},
	} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			ns := playtest.New(t)
			createServices(t, ns, "web-canary", "web-stable")
			createObject(t, ns, routing.object.DeepCopy())
			tellStory(t, ns, routed(4, routing.yaml, twoWeights, "scaleDownDelaySeconds: 1, abortScaleDownDelaySeconds: 1, maxUnavailable: 1"), false)

			ns.SetImage("web", "nginx:4")
			ns.WaitForRollout("web", "to pause at 25 %", both(playtest.AtStep(1), playtest.Paused, weightIs(25)))
			gvk, drifted := routing.object.GroupVersionKind(), ""
			shows := func(o *unstructured.Unstructured) bool {
				weights, ok := proxy.Weights(o)
				return ok && weights["web-canary"] == 25 && weights["web-stable"] == 75 && o.GetResourceVersion() != drifted
			}
			ns.WaitForRoute(gvk, "web", "to send 25 % to the canary", shows)
			reverted := routing.object.DeepCopy() // as a GitOps tool does
			reverted.SetNamespace(ns.Name)
			reverted.SetAnnotations(map[string]string{"alb.ingress.kubernetes.io/actions.web-stable": "", "rollouts.argoproj.io/managed-alb-annotations": ""})
			if err := ns.Client.Patch(t.Context(), reverted, client.Merge); err != nil {
				t.Fatal(err)
			}
			drifted = reverted.GetResourceVersion()
			if shows(reverted) {
				t.Fatal("nothing has drifted")
			}
			ns.WaitForRoute(gvk, "web", "to send 25 % to the canary again", shows)
			if ro := ns.Rollout("web"); ro.Status.Phase == v1alpha1.RolloutPhaseDegraded {
				t.Errorf("the drift has broken the update: %s", ro.Status.Message)
			}
		})
	}
}
