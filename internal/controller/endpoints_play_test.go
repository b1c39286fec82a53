package controller_test

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
	"github.com/sluice-delivery/sluice/internal/traffic/gatewayapi"
)

// TestRoutesWaitForEndpointSlices: the EndpointSlice of the canary's Service does not list the available pod of the new version yet. No route sends
// requests there, neither by header nor by weight, until it does, also after the controller was killed.
func TestRoutesWaitForEndpointSlices(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	manifest := routed(2, `{managedRoutes: [{name: beta}], gatewayAPI: {httpRoute: web}}`,
		`[{setCanaryScale: {replicas: 1}}, {setHeaderRoute: {name: beta, match: [{headerName: x-beta, headerValue: {exact: "1"}}]}}, {setWeight: 50}, {pause: {}}]`, "")
	createRoute(t, ns, manifest)
	ns.StartController()
	ns.CreateRollout(manifest)
	ns.WaitForRollout("web", "to be Healthy", settledOn("1", 2))

	thaw := freeze(t, ns, discoveryv1.GroupName, "endpointslices")
	label := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"labels": {"probe": "yes"}}}`))
	frozen := func() bool {
		var slices discoveryv1.EndpointSliceList
		if err := ns.Client.List(t.Context(), &slices, client.InNamespace(ns.Name)); err != nil || len(slices.Items) == 0 {
			t.Fatalf("%d EndpointSlices: %v", len(slices.Items), err)
		}
		return apierrors.IsInvalid(ns.Client.Patch(t.Context(), &slices.Items[0], label, client.DryRunAll))
	}
	ns.WaitUntil("the policy to hold", func() error {
		if !frozen() {
			return errors.New("not yet")
		}
		return nil
	})
	history := ns.Record()
	ns.SetImage("web", "nginx:2")
	waiting := func(ro *v1alpha1.Rollout) bool {
		return strings.HasPrefix(ro.Status.Message, `waiting for EndpointSlices of Service "web-canary" to list a pod of ReplicaSet "web-`+ro.Status.CurrentPodHash+`"`)
	}
	canary := ns.WaitForRollout("web", "to wait at the header route", both(waiting, func(ro *v1alpha1.Rollout) bool { return *ro.Status.CurrentStepIndex == 1 })).Status.CurrentPodHash
	ns.KillController()
	ns.PatchStatus("web", `{"status":{"message":"nobody is there"}}`)
	ns.StartController()
	ns.WaitForRollout("web", "to wait again", waiting)
	route := &unstructured.Unstructured{}
	route.SetGroupVersionKind(gatewayapi.GVK("HTTPRoute"))
	err := ns.Client.Get(t.Context(), client.ObjectKey{Namespace: ns.Name, Name: "web"}, route)
	if rules, _, _ := unstructured.NestedSlice(route.Object, "spec", "rules"); err != nil || len(rules) != 1 {
		t.Errorf("there is a route for requests with a header: %v, %v", rules, err)
	}
	for _, p := range history.Stop() {
		for key := range p.Routes {
			if share := p.Traffic(key)[canary]; share > 0 {
				t.Errorf("%d %% of the requests go to pods that no EndpointSlice lists, at %s", share, p)
			}
		}
	}

	thaw()
	ns.WaitUntil("EndpointSlices to be writable", func() error {
		if frozen() {
			return errors.New("not yet")
		}
		return nil
	})
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "web-canary"}}
	if err := ns.Client.Patch(t.Context(), service, label); err != nil { // their controller waits longer each time before it tries again
		t.Fatal(err)
	}
	ns.WaitForRollout("web", "to pause at 50 %", both(playtest.AtStep(3), playtest.Paused, weightIs(50)))
}
