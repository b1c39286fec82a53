package later

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/internal/playtest"
)

// TestOlderVersionIsFound: a cluster serves TrafficSplits only as v1alpha1, whose weights are texts. The controller creates one in this version,
// follows it, reverts manual edits, and deletes it when the Rollout names another router.
func TestOlderVersionIsFound(t *testing.T) {
	ns := playtest.New(t)
	ns.Apply(playtest.Root() + "/internal/traffic/e2e/later/testdata/trafficsplits.yaml")
	ns.Apply(playtest.Root() + "/internal/traffic/e2e/later/testdata/services.yaml")
	ns.StartController()
	ns.CreateRollout(`
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:1", ports: [{containerPort: 80}]}]}
  strategy:
    canary:
      canaryService: web-canary
      stableService: web-stable
      trafficRouting: {smi: {}}
      steps: [{setWeight: 50}, {pause: {}}]
`)
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	ns.SetImage("web", "nginx:2")
	gvk := schema.GroupVersionKind{Group: "split.smi-spec.io", Version: "v1alpha1", Kind: "TrafficSplit"}
	has := func(weights ...string) func(o *unstructured.Unstructured) bool {
		return func(o *unstructured.Unstructured) bool {
			backends, _, _ := unstructured.NestedSlice(o.Object, "spec", "backends")
			return fmt.Sprintf("%q", backends) == fmt.Sprintf(`[map["service":"web-canary" "weight":"%s"] map["service":"web-stable" "weight":"%s"]]`, weights[0], weights[1])
		}
	}
	ns.WaitForRoute(gvk, "web", "to split", has("50", "50"))
	split := &unstructured.Unstructured{}
	split.SetGroupVersionKind(gvk)
	split.SetNamespace(ns.Name)
	split.SetName("web")
	ns.WaitUntil("the weights are changed", func() error {
		if err := ns.Client.Get(t.Context(), client.ObjectKeyFromObject(split), split); err != nil {
			return err
		}
		split.Object["spec"].(map[string]any)["backends"] = []any{map[string]any{"service": "web-stable", "weight": "100"}}
		return ns.Client.Update(t.Context(), split)
	})
	ns.WaitForRoute(gvk, "web", "to split again", has("50", "50"))
	ns.Patch("web", `{"spec":{"strategy":{"canary":{"trafficRouting":null}}}}`)
	ns.WaitUntil("the TrafficSplit is deleted", func() error {
		err := ns.Client.Get(t.Context(), client.ObjectKeyFromObject(split), split)
		if err == nil {
			return fmt.Errorf("it is there: %v", split.Object["spec"])
		}
		if strings.Contains(err.Error(), "not found") {
			return nil
		}
		return err
	})
}
