package controller_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/internal/playtest"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/traffic/nginx"
	"github.com/sluice-delivery/sluice/internal/traffic/proxy"
)

// Whatever a router has put into an object of other people goes when the Rollout is deleted during an update, no longer has the router, or has
// another one in its place; and what is not its own stays. An object that the router made goes with the Rollout's need of it.
func TestRoutersCleanUpAfterThemselves(t *testing.T) {
	t.Parallel()
	const another = `{"gatewayAPI":{"httpRoute":"another"}}`
	all := maps.Clone(listed)
	withNginx := all["ambassador"]
	withNginx.yaml, withNginx.made = `{nginx: {stableIngress: web}}`, sim.Ingress("web", "web-stable")
	withNginx.kind, withNginx.name = nginx.GVK, "web-web-canary"
	all["nginx"] = withNginx
	for end, leave := range map[string]func(*playtest.Namespace, string){
		"deleted": func(ns *playtest.Namespace, _ string) { ns.DeleteRollout("web") },
		"removed": func(ns *playtest.Namespace, _ string) {
			ns.Patch("web", `{"spec":{"strategy":{"canary":{"trafficRouting":null,"scaleDownDelaySeconds":null,"abortScaleDownDelaySeconds":null}}}}`)
		},
		"replaced": func(ns *playtest.Namespace, key string) {
			ns.Patch("web", `{"spec":{"strategy":{"canary":{"trafficRouting":{"`+key+`":null,`+strings.TrimPrefix(another, "{")+`}}}}`)
		},
	} {
		for key, router := range all {
			t.Run(end+" "+key, func(t *testing.T) {
				t.Parallel()
				ns := playtest.New(t)
				createServices(t, ns, "web-canary", "web-stable")
				createObject(t, ns, sim.HTTPRoute("another", "web-stable"))
				if router.made != nil {
					made := router.made.DeepCopy()
					annotations := map[string]string{"example.com/notes": "of people"}
					maps.Copy(annotations, made.GetAnnotations())
					made.SetAnnotations(annotations)
					createObject(t, ns, made)
				}
				ns.StartController("--gateway-status-timeout=0")
				ns.CreateRollout(routed(2, router.yaml, `[{setWeight: 50}, {pause: {}}]`, listedMore))
				ns.WaitForRollout("web", "to be Healthy", settledOn("1", 2))
				ns.SetImage("web", "nginx:2")
				ns.WaitForRollout("web", "to pause", both(playtest.Paused, weightIs(50)))
				leave(ns, key)
				if router.made == nil {
					ns.WaitForNoRoute(router.kind, "web")
					return
				}
				ns.WaitForRoute(router.made.GroupVersionKind(), "web", "to have nothing of the Rollout's", func(o *unstructured.Unstructured) bool {
					text, err := json.Marshal(o.Object["metadata"].(map[string]any)["annotations"])
					if weights, ok := proxy.Weights(o); end != "deleted" && returnsWeights[key] && (!ok || weights["web-stable"] == 0 || weights["web-canary"] != 0) {
						return false
					}
					return err == nil && !strings.Contains(string(text), "argoproj.io/") && o.GetAnnotations()["example.com/notes"] == "of people"
				})
				if router.kind.Kind != "" {
					ns.WaitForNoRoute(router.kind, router.name)
				}
			})
		}
	}
}

// returnsWeights are the routers whose object, once it is no longer named, sends everything to the stable Service.
var returnsWeights = map[string]bool{"istio": true, "alb": true, "traefik": true, "apisix": true, "custom": true}
