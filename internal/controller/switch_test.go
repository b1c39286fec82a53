package controller_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
	"github.com/sluice-delivery/sluice/internal/traffic/gatewayapi"
)

// TestC28FromARoutedCanaryToBlueGreen: in the middle of an update, with most of the traffic at the canary and few pods of the stable version
// left, the strategy changes. At every moment those to whom the route sends can carry it.
func TestC28FromARoutedCanaryToBlueGreen(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	manifest := routed(4, routers["GatewayAPI"], `[{setWeight: 75}, {pause: {}}]`, "dynamicStableScale: true")
	createRoute(t, ns, manifest)
	ns.StartController()
	ns.CreateRollout(manifest)
	ns.WaitForRollout("web", "to be Healthy", settledOn("1", 4))
	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to pause", both(playtest.AtStep(1), weightIs(75), pods(4)))

	history := ns.Record()
	ns.Patch("web", `{"spec":{"strategy":{"canary":null,"blueGreen":{"activeService":"web-stable","autoPromotionEnabled":false,"scaleDownDelaySeconds":1}}}}`)
	ns.WaitForRoute(gatewayapi.GVK("HTTPRoute"), "web", "to send to the stable Service alone", func(o *unstructured.Unstructured) bool {
		return o.GetAnnotations()[v1alpha1.GatewayAPINotesAnnotation] == ""
	})
	ns.WaitForRollout("web", "to wait for a person", func(ro *v1alpha1.Rollout) bool { // recorded after the routes are written
		return playtest.Paused(ro) && slices.ContainsFunc(ro.Status.PauseConditions, func(c v1alpha1.PauseCondition) bool { return c.Reason == v1alpha1.PauseReasonBlueGreenPause })
	})
	ns.PatchStatus("web", resume)
	ns.WaitForRollout("web", "to be Healthy on the second version", both(playtest.Healthy, revision("2"), pods(4)))
	ns.WaitForService("web-canary", "to be released", released) // once no other version has pods
	for _, p := range history.Stop() {
		for route := range p.Routes {
			for hash, share := range p.Traffic(route) {
				if set, ok := p.Sets[hash]; hash != "" && share > 0 && (!ok || set.Status.AvailableReplicas < (share*4+99)/100-1) {
					t.Errorf("%d %% of the traffic goes to %s, with %d pods available, at %s", share, hash, set.Status.AvailableReplicas, p)
				}
			}
		}
	}
}
