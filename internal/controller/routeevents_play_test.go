package controller_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/traffic/istio"
	"github.com/sluice-delivery/sluice/internal/traffic/nginx"
	"github.com/sluice-delivery/sluice/internal/traffic/traefik"
)

// An update by each router that has events of its own. They are published in order, once, and not again by a controller that starts.
func TestEventsOfRouters(t *testing.T) {
	t.Parallel()
	const header = `{setHeaderRoute: {name: beta, match: [{headerName: x-beta, headerValue: {exact: "1"}}]}}`
	const mirror = `{setMirrorRoute: {name: copy, match: [{method: {exact: GET}}]}}`
	for name, c := range map[string]struct {
		routing, steps string
		objects        []*unstructured.Unstructured
		want           []string
	}{
		"NGINX": {
			`{nginx: {stableIngress: web}}`, `[{setWeight: 50}, {pause: {}}]`,
			[]*unstructured.Unstructured{sim.Ingress("web", "web-stable")},
			[]string{
				"Normal CreatingCanaryIngress Creating Ingress `web-web-canary` with desiredWeight '0'",
				"Normal PatchingCanaryIngress Updating Ingress `web-web-canary` to desiredWeight '50'",
				"Normal PatchingCanaryIngress Updating Ingress `web-web-canary` to desiredWeight '100'",
				"Normal PatchingCanaryIngress Updating Ingress `web-web-canary` to desiredWeight '0'",
			},
		},
		"ALB": {
			`{alb: {ingress: web, servicePort: 80}, managedRoutes: [{name: beta}]}`, `[{setWeight: 50}, ` + header + `, {pause: {}}]`,
			[]*unstructured.Unstructured{sim.ALBIngress("web", "web-stable", "")},
			[]string{
				"Normal PatchingALBIngress Updating Ingress `web` to desiredWeight '0' (2 times)", // the last one is word for word the first one
				"Normal PatchingALBIngress Updating Ingress `web` to desiredWeight '50'",
				"Normal PatchingALBIngress Updating Ingress `web` to headerRoute 'beta'",
				"Normal PatchingALBIngress Updating Ingress `web` to desiredWeight '100'",
				"Normal PatchingALBIngress Updating Ingress `web` removing managed routes",
			},
		},
		"Istio": {
			`{istio: {virtualService: {name: web}, destinationRule: {name: web, canarySubsetName: canary, stableSubsetName: stable}}, managedRoutes: [{name: beta}, {name: copy}]}`,
			`[{setWeight: 50}, ` + header + `, ` + mirror + `, {pause: {}}]`, bySubsets(t),
			[]string{
				"Normal UpdatedDestinationRule DestinationRule web subset updated (canary: FIRST, stable: FIRST)",
				"Normal UpdatedDestinationRule DestinationRule web subset updated (canary: SECOND, stable: FIRST)",
				"Normal Updated VirtualService VirtualService `web` set to desiredWeight '50'",
				"Normal Updated VirtualService VirtualService `web` set headerRoute 'beta'",
				"Normal Updated VirtualService VirtualService `web` set mirrorRoute 'copy'",
				"Normal Updated VirtualService VirtualService `web` set to desiredWeight '100'",
				"Normal UpdatedDestinationRule DestinationRule web subset updated (canary: SECOND, stable: SECOND)",
				"Normal Updated VirtualService VirtualService `web` removed all managed routes.",
				"Normal Updated VirtualService VirtualService `web` set to desiredWeight '0'",
			},
		},
		"SMI": {
			`{smi: {}}`, `[{setWeight: 50}, {pause: {}}]`, nil,
			[]string{"Normal TrafficSplitCreated TrafficSplit `web` created"},
		},
		"Ambassador": {
			`{ambassador: {mappings: [web]}}`, `[{setWeight: 50}, {pause: {}}]`,
			[]*unstructured.Unstructured{sim.Mapping("web", "web-stable", "")},
			[]string{
				"Normal CanaryMappingWeightUpdate Set canary mapping weight to 50",
				"Normal CanaryMappingWeightUpdate Set canary mapping weight to 100",
				"Normal CanaryMappingWeightUpdate Set canary mapping weight to 0",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := playtest.New(t)
			createServices(t, ns, "web-canary", "web-stable")
			for _, object := range c.objects {
				createObject(t, ns, object.DeepCopy())
			}
			ns.StartController()
			ns.CreateRollout(routed(2, c.routing, c.steps, "scaleDownDelaySeconds: 1"))
			first := ns.WaitForRollout("web", "to be Healthy", settledOn("1", 2)).Status.StableRS
			ns.SetImage("web", "nginx:2")
			second := ns.WaitForRollout("web", "to pause", both(playtest.Paused, weightIs(50))).Status.CurrentPodHash
			ns.PatchStatus("web", resume)
			ns.WaitForRollout("web", "to be Healthy on the second version", settledOn("2", 2))
			ns.WaitForEvents("web", "RolloutCompleted Rollout completed update to revision 2")
			ns.RestartsQuietly(ns.Versions)
			ns.WaitForEvents("marker-1", "RolloutCompleted")
			want := strings.NewReplacer("FIRST", first, "SECOND", second).Replace(strings.Join(c.want, "\n"))
			if diff := gocmp.Diff(strings.Split(want, "\n"), eventsOfRouters(t, ns)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// bySubsets are a VirtualService whose destinations are subsets, and the DestinationRule that has these.
func bySubsets(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	service := sim.VirtualService("web", "web", "web")
	if err := unstructured.SetNestedSlice(service.Object, []any{map[string]any{"route": []any{
		map[string]any{"destination": map[string]any{"host": "web", "subset": "stable"}, "weight": int64(100)},
		map[string]any{"destination": map[string]any{"host": "web", "subset": "canary"}, "weight": int64(0)},
	}}}, "spec", "http"); err != nil {
		t.Fatal(err)
	}
	rule := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "web"}, "spec": map[string]any{"host": "web", "subsets": []any{
		map[string]any{"name": "canary"}, map[string]any{"name": "stable"},
	}}}}
	rule.SetGroupVersionKind(istio.DestinationRule)
	return []*unstructured.Unstructured{service, rule}
}

// Writes that a policy rejects have one event for each answer, however often they are tried; that they are accepted at last is an event where the
// creation of the object is one.
func TestRejectedWritesOfRouters(t *testing.T) {
	t.Parallel()
	const header = `{setHeaderRoute: {name: beta, match: [{headerName: x-beta, headerValue: {exact: "1"}}]}}`
	for name, c := range map[string]struct {
		routing, step   string
		objects         []*unstructured.Unstructured
		group, resource string
		operation       string
		// update: the write is one of the update. Otherwise it is one of the first version.
		update      bool
		told, after string
	}{
		"a TraefikService is changed": {
			routing: `{traefik: {weightedTraefikServiceName: web}}`, step: "{setWeight: 50}", objects: []*unstructured.Unstructured{sim.TraefikService("web", "web-stable", "web-canary")},
			group: traefik.Kinds()[0].Group, resource: "traefikservices", operation: "UPDATE", update: true,
			told: `Warning TraefikServiceUpdateError Error updating traefik service "web": `,
		},
		"an ApisixRoute is created": {
			routing: `{apisix: {route: {name: web}}, managedRoutes: [{name: beta}]}`, step: "{setWeight: 50}, " + header, objects: []*unstructured.Unstructured{sim.ApisixRoute("web", "web-stable", "web-canary")},
			group: "apisix.apache.org", resource: "apisixroutes", operation: "CREATE", update: true,
			told: `Warning ApisixRouteCreateError Error create apisix route "beta": `,
		},
		"a TrafficSplit is created": {
			routing: `{smi: {}}`, step: "{setWeight: 50}", group: "split.smi-spec.io", resource: "trafficsplits", operation: "CREATE",
			told: "Warning TrafficSplitNotCreated TrafficSplit `web` failed creation: ", after: "Normal TrafficSplitCreated TrafficSplit `web` created",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := playtest.New(t)
			createServices(t, ns, "web-canary", "web-stable")
			for _, object := range c.objects {
				createObject(t, ns, object.DeepCopy())
			}
			ns.StartController("--rollout-threads=1")
			create := func() {
				ns.CreateRollout(routed(1, c.routing, "["+c.step+", {pause: {}}]", ""))
			}
			if c.update {
				create()
				ns.WaitForRollout("web", "to be Healthy", settledOn("1", 1))
			}
			thaw := freeze(t, ns, c.group, c.resource, c.operation)
			waitUntilFrozen(t, ns, c.group, c.resource, c.operation, c.objects)
			if c.update {
				ns.SetImage("web", "nginx:2")
			} else {
				create()
			}
			ns.WaitForEvents("web", c.resource+" are frozen")
			ns.Patch("web", `{"metadata":{"annotations":{"again":"yes"}}}`)
			ns.Marker()
			ns.WaitForEvents("marker-1", "RolloutCompleted")
			if got := eventsOfRouters(t, ns); len(got) != 1 || !strings.HasPrefix(got[0], c.told) || !strings.HasSuffix(got[0], c.resource+" are frozen") {
				t.Errorf("got %q, want one that begins %q", got, c.told)
			}
			thaw()
			ns.WaitForRollout("web", "to continue", func(ro *v1alpha1.Rollout) bool { return playtest.Healthy(ro) || playtest.Paused(ro) })
			if c.after != "" {
				ns.WaitForEvents("web", strings.TrimPrefix(c.after, "Normal "))
			}
		})
	}
}

// waitUntilFrozen waits until a policy is in force: the API server learns of one a moment later.
func waitUntilFrozen(t *testing.T, ns *playtest.Namespace, group, resource, operation string, objects []*unstructured.Unstructured) {
	t.Helper()
	probe := sim.TrafficSplit("probe", "web-stable")
	if len(objects) > 0 {
		probe = objects[0].DeepCopy()
	}
	ns.WaitUntil("the policy for "+group+" to hold", func() error {
		o := probe.DeepCopy()
		o.SetNamespace(ns.Name)
		var err error
		if operation == "CREATE" {
			o.SetName("probe")
			err = ns.Client.Create(t.Context(), o, client.DryRunAll)
		} else {
			err = ns.Client.Patch(t.Context(), o, client.RawPatch("application/merge-patch+json", []byte(`{"metadata": {"labels": {"probe": "yes"}}}`)), client.DryRunAll)
		}
		if err == nil || !strings.Contains(err.Error(), resource+" are frozen") {
			return errors.Join(err, errors.New("not yet"))
		}
		return nil
	})
}

// What is missing is reported once beside InvalidSpec, and again only if it was there in between.
func TestMissingObjectsOfRouters(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	createServices(t, ns, "web-canary", "web-stable")
	objects := bySubsets(t)
	ns.StartController()
	ns.CreateRollout(routed(1, `{istio: {virtualService: {name: web}, destinationRule: {name: web, canarySubsetName: canary, stableSubsetName: stable}}}`, `[{setWeight: 50}, {pause: {}}]`, ""))
	const rule, service = "Warning DestinationRuleNotFound DestinationRule `web` not found", "Warning VirtualServiceNotFound VirtualService `web` not found"
	ns.WaitForEvents("web", strings.TrimPrefix(rule, "Warning "), strings.TrimPrefix(service, "Warning "))
	ns.Patch("web", `{"metadata":{"annotations":{"again":"yes"}}}`)
	createObject(t, ns, objects[0].DeepCopy()) // the message of the condition is another one, and the DestinationRule is still missing
	ns.WaitForRollout("web", "to lack the DestinationRule alone", func(ro *v1alpha1.Rollout) bool {
		message := invalid(ro)
		return strings.Contains(message, "DestinationRule") && !strings.Contains(message, "VirtualService \"web\" not found")
	})
	ns.StopController(syscall.SIGTERM) // which publishes what was recorded
	ns.StartController("--rollout-threads=1")
	ns.Marker()
	ns.WaitForEvents("marker-1", "RolloutCompleted")
	if diff := gocmp.Diff([]string{rule, service}, eventsOfRouters(t, ns)); diff != "" {
		t.Error(diff)
	}
	createObject(t, ns, objects[1].DeepCopy())
	ns.WaitForRollout("web", "to be Healthy", settledOn("1", 1))
	gone := objects[0].DeepCopy()
	gone.SetNamespace(ns.Name)
	if err := ns.Client.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	ns.WaitUntil("the second event of the VirtualService", func() error {
		if got := eventsOfRouters(t, ns); len(got) != 4 || got[3] != service { // after that of the subsets, which could be set in between
			return fmt.Errorf("%q", got)
		}
		return nil
	})
}

// invalid is what the condition InvalidSpec says.
func invalid(ro *v1alpha1.Rollout) string {
	for _, c := range ro.Status.Conditions {
		if c.Type == v1alpha1.ConditionInvalidSpec {
			return c.Message
		}
	}
	return ""
}

// A weight that someone else changes is restored, and RouteRestored is all that is said of it.
func TestRestoredRoutesHaveNoEventsOfRouters(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	createServices(t, ns, "web-canary", "web-stable")
	createObject(t, ns, sim.Ingress("web", "web-stable"))
	ns.StartController("--rollout-threads=1")
	ns.CreateRollout(routed(1, `{nginx: {stableIngress: web}}`, `[{setWeight: 50}, {pause: {}}]`, ""))
	ns.WaitForRollout("web", "to be Healthy", settledOn("1", 1))
	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to pause", both(playtest.Paused, weightIs(50)))
	ingress := &unstructured.Unstructured{}
	ingress.SetGroupVersionKind(nginx.GVK)
	ingress.SetNamespace(ns.Name)
	ingress.SetName("web-web-canary")
	const theirs = `{"metadata": {"annotations": {"nginx.ingress.kubernetes.io/canary-weight": "70"}}}`
	if err := ns.Client.Patch(t.Context(), ingress, client.RawPatch("application/merge-patch+json", []byte(theirs))); err != nil {
		t.Fatal(err)
	}
	ns.WaitForEvents("web", v1alpha1.EventRouteRestored)
	ns.Marker()
	ns.WaitForEvents("marker-1", "RolloutCompleted")
	want := []string{
		"Normal CreatingCanaryIngress Creating Ingress `web-web-canary` with desiredWeight '0'", "Normal PatchingCanaryIngress Updating Ingress `web-web-canary` to desiredWeight '50'",
	}
	if diff := gocmp.Diff(want, eventsOfRouters(t, ns)); diff != "" {
		t.Error(diff)
	}
}

// eventsOfRouters are the events of the Rollout web that only some routers have, in the order in which they were recorded first: their names count up.
func eventsOfRouters(t *testing.T, ns *playtest.Namespace) []string {
	t.Helper()
	var list corev1.EventList
	if err := ns.Client.List(t.Context(), &list, client.InNamespace(ns.Name)); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Event) int { return cmp.Compare(a.Name, b.Name) })
	var all []string
	for _, e := range list.Items {
		if e.InvolvedObject.Name != "web" || !isRouters(e.Reason) {
			continue
		}
		text := e.Type + " " + e.Reason + " " + e.Message
		if e.Count > 1 {
			text += fmt.Sprintf(" (%d times)", e.Count)
		}
		all = append(all, text)
	}
	return all
}

func isRouters(reason string) bool {
	for _, part := range []string{"ALBIngress", "CanaryIngress", "VirtualService", "DestinationRule", "TrafficSplit", "Mapping", "TraefikService", "ApisixRoute"} {
		if strings.Contains(reason, part) {
			return true
		}
	}
	return false
}
