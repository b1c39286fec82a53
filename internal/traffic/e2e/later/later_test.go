package later

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/manifests"
	"github.com/sluice-delivery/sluice/internal/playtest"
	"github.com/sluice-delivery/sluice/internal/sim"
)

func TestMain(m *testing.M) { playtest.Main(m) }

// TestC37IstioIsInstalledAfterSluice: a Rollout names a VirtualService of a cluster that does not know the kind. It says so, and continues by
// itself once Istio is there.
func TestC37IstioIsInstalledAfterSluice(t *testing.T) {
	ns := playtest.New(t)
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
      trafficRouting: {istio: {virtualService: {name: web}}}
      steps: [{setWeight: 50}, {pause: {}}]
`)
	ns.Apply(playtest.Root() + "/internal/traffic/e2e/later/testdata/services.yaml")
	ns.WaitForRollout("web", "to miss the VirtualService", func(ro *v1alpha1.Rollout) bool {
		return slices.ContainsFunc(ro.Status.Conditions, func(c v1alpha1.RolloutCondition) bool {
			return c.Type == v1alpha1.ConditionInvalidSpec && strings.Contains(c.Message, `the cluster does not have the kind VirtualService`)
		})
	})
	crds, err := manifests.Istio()
	if err != nil {
		t.Fatal(err)
	}
	ns.Apply(crds)
	service := sim.VirtualService("web", "web-stable", "web-canary")
	service.SetNamespace(ns.Name)
	ns.WaitUntil("the API server takes VirtualServices", func() error { return ns.Client.Create(t.Context(), service.DeepCopy()) })
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	ns.SetImage("web", "nginx:2")
	ns.WaitForRoute(service.GroupVersionKind(), "web", "to split", func(o *unstructured.Unstructured) bool {
		routes, _, _ := unstructured.NestedSlice(o.Object, "spec", "http")
		return len(routes) == 1 && strings.Count(fmt.Sprint(routes[0]), "weight:50") == 2
	})
}
