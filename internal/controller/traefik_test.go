package controller_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
	"github.com/sluice-delivery/sluice/internal/sim"
)

const (
	byMirrors  = `{traefik: {weightedTraefikServiceName: web, mirroringTraefikServiceName: copies}, managedRoutes: [{name: copy}]}`
	copySteps  = `[{setCanaryScale: {replicas: 1}}, {setMirrorRoute: {name: copy, percentage: 40, match: [{path: {prefix: /}}]}}, {pause: {}}, {setMirrorRoute: {name: copy}}, {setWeight: 50}, {pause: {}}]`
	alone      = `{"name":"audit","percent":100,"port":80}`
	withCopies = alone + `,{"name":"web-canary","percent":40,"port":80}`
)

// createMirrored creates the Services, and the TraefikServices that split and mirror.
func createMirrored(t *testing.T, ns *playtest.Namespace) *unstructured.Unstructured {
	t.Helper()
	createServices(t, ns, "web-canary", "web-stable")
	createObject(t, ns, sim.TraefikService("web", "web-stable", "web-canary"))
	copies := sim.TraefikMirroring("copies", "web")
	createObject(t, ns, copies)
	return copies
}

// mirrors reports whether a TraefikService has these mirrors, as JSON, and notes of Rollouts if some of them are a Rollout's.
func mirrors(want string) func(*unstructured.Unstructured) bool {
	return func(o *unstructured.Unstructured) bool {
		list, _, err := unstructured.NestedSlice(o.Object, "spec", "mirroring", "mirrors")
		text, broken := json.Marshal(list)
		noted := o.GetAnnotations()[v1alpha1.TraefikNotesAnnotation] != ""
		return err == nil && broken == nil && string(text) == "["+want+"]" && noted == (want != alone)
	}
}

// The canary gets copies while the step says so, from the first to the last moment, whatever others do to the entry; other mirrors stay.
func TestTraefikMirrorsFromEndToEnd(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	copies := createMirrored(t, ns)
	gvk := copies.GroupVersionKind()
	wait := func(what, want string) {
		t.Helper()
		ns.WaitForRoute(gvk, "copies", what, mirrors(want))
	}
	ns.StartController()
	ns.CreateRollout(routed(2, byMirrors, copySteps, listedMore))
	ns.WaitForRollout("web", "to be Healthy", settledOn("1", 2))
	wait("to have the mirrors of its author", alone)

	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to pause with copies", both(playtest.AtStep(2), playtest.Paused, weightIs(0)))
	wait("to copy to the canary", withCopies)
	if told := strings.Join(ns.Events("web"), "\n"); strings.Contains(told, v1alpha1.EventRouteRestored) {
		t.Errorf("nobody has changed a route: %s", told)
	}
	for drift, patch := range map[string]string{
		"changed": `{"spec":{"mirroring":{"mirrors":[` + strings.ReplaceAll(withCopies, "40", "90") + `]}}}`,
		"moved":   `{"spec":{"mirroring":{"mirrors":[` + alone + `,{"name":"web-canary","percent":40,"port":81}]}}}`,
		"removed": `{"spec":{"mirroring":{"mirrors":[` + alone + `]}}}`,
	} {
		t.Logf("the entry is %s", drift)
		o := copies.DeepCopy()
		o.SetResourceVersion("")
		o.SetNamespace(ns.Name)
		if err := ns.Client.Patch(t.Context(), o, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
			t.Fatal(err)
		}
		if mirrors(withCopies)(o) {
			t.Fatal("nothing has drifted")
		}
		wait("to copy to the canary again", withCopies)
	}
	ns.WaitForEvents("web", `RouteRestored Restored TraefikService "copies": someone else changed what this Rollout sets there`)

	ns.PatchStatus("web", resume)
	ns.WaitForRollout("web", "to pause at 50 %", both(playtest.AtStep(5), playtest.Paused, weightIs(50)))
	wait("to have lost the copies after the step that ends them", alone)
	ns.PatchStatus("web", `{"status":{"abort":true}}`)
	ns.WaitForRollout("web", "to be back at the stable version", both(playtest.Degraded, weightIs(0)))
	ns.PatchStatus("web", `{"status":{"abort":false}}`)
	ns.WaitForRollout("web", "to pause with copies again", both(playtest.AtStep(2), playtest.Paused, weightIs(0)))
	wait("to copy to the canary after the retry", withCopies)
	ns.PatchStatus("web", `{"status":{"abort":true}}`)
	wait("to have lost the copies with the abort", alone)

	ns.SetImage("web", "nginx:3")
	wait("to copy to the third version", withCopies)
	ns.PatchStatus("web", `{"status":{"promoteFull":true}}`)
	ns.WaitForRollout("web", "to be Healthy on the third version", settled(2))
	wait("to have lost the copies with the promotion", alone)
}

// The copies end with the Rollout, with its router, and with the field that names the TraefikService.
func TestTraefikMirrorsAreCleanedUp(t *testing.T) {
	t.Parallel()
	for end, leave := range map[string]func(*playtest.Namespace){
		"the Rollout is deleted": func(ns *playtest.Namespace) { ns.DeleteRollout("web") },
		"the router is removed": func(ns *playtest.Namespace) {
			ns.Patch("web", `{"spec":{"strategy":{"canary":{"steps":[],"trafficRouting":null,"scaleDownDelaySeconds":null,"abortScaleDownDelaySeconds":null}}}}`)
		},
		"the field is removed": func(ns *playtest.Namespace) {
			ns.Patch("web", `{"spec":{"strategy":{"canary":{"steps":[{"pause":{}}],"trafficRouting":{"traefik":{"mirroringTraefikServiceName":null}}}}}}`)
		},
		"the Rollout is deleted while no controller runs": func(ns *playtest.Namespace) {
			ns.StopController(syscall.SIGKILL)
			ns.DeleteRollout("web")
			ns.StartController()
		},
	} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			ns := playtest.New(t)
			copies := createMirrored(t, ns)
			ns.StartController()
			ns.CreateRollout(routed(2, byMirrors, copySteps, listedMore))
			ns.WaitForRollout("web", "to be Healthy", settledOn("1", 2))
			ns.SetImage("web", "nginx:2")
			ns.WaitForRoute(copies.GroupVersionKind(), "copies", "to copy to the canary", mirrors(withCopies))
			leave(ns)
			ns.WaitForRoute(copies.GroupVersionKind(), "copies", "to have the mirrors of its author", mirrors(alone))
		})
	}
}

// A controller of another instance releases the Services of a Rollout that is gone, and knows nothing of its TraefikService, which had no copies when it
// looked. The Rollout's own controller, which did not run meanwhile, finds them though nothing else names the Rollout.
func TestTraefikMirrorsThatAnotherInstanceLeaves(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	copies := createMirrored(t, ns)
	ns.StartController()
	ns.StartClusterController()
	neighbor := ns.Neighbor()
	neighbor.CreateRollout(strings.Replace(canary(1, "{}"), "metadata: {name: web}", "metadata: {name: web, labels: {"+v1alpha1.InstanceIDLabel+": "+ns.Name+"}}", 1))
	neighbor.WaitForRollout("web", "to be Healthy under the other instance", playtest.Healthy)
	ns.CreateRollout(routed(2, byMirrors, copySteps, listedMore))
	ns.WaitForRollout("web", "to be Healthy", settledOn("1", 2))
	ns.SetImage("web", "nginx:2")
	ns.WaitForRoute(copies.GroupVersionKind(), "copies", "to copy to the canary", mirrors(withCopies))
	ns.StopController(syscall.SIGKILL)
	ns.DeleteRollout("web")
	for _, name := range []string{"web-stable", "web-canary"} {
		ns.WaitForService(name, "to be released", func(s *corev1.Service) bool { return s.Annotations[v1alpha1.ManagedByAnnotation] == "" })
	}
	ns.WaitForReplicaSetsToGo()
	ns.StartController()
	ns.WaitForRoute(copies.GroupVersionKind(), "copies", "to have the mirrors of its author", mirrors(alone))
}

// Two Rollouts have their copies in one TraefikService, at the same time.
func TestTraefikMirrorsOfTwoRollouts(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	createServices(t, ns, "web-canary", "web-stable", "api-canary", "api-stable")
	weighted := sim.TraefikService("web", "web-stable", "web-canary")
	more := sim.TraefikService("web", "api-stable", "api-canary")
	list, _, _ := unstructured.NestedSlice(weighted.Object, "spec", "weighted", "services")
	others, _, _ := unstructured.NestedSlice(more.Object, "spec", "weighted", "services")
	if err := unstructured.SetNestedSlice(weighted.Object, slices.Concat(list, others), "spec", "weighted", "services"); err != nil {
		t.Fatal(err)
	}
	createObject(t, ns, weighted)
	copies := sim.TraefikMirroring("copies", "web")
	createObject(t, ns, copies)
	for _, name := range []string{"api-canary", "api-stable"} {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: name}}
		if err := ns.Client.Patch(t.Context(), service, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"selector":{"app":"api"}}}`))); err != nil {
			t.Fatal(err)
		}
	}
	ns.StartController()
	manifest := routed(1, byMirrors, copySteps, listedMore)
	ns.CreateRollout(manifest)
	ns.CreateRollout(strings.NewReplacer("name: web}", "name: api}", "app: web", "app: api", "web-canary", "api-canary", "web-stable", "api-stable").Replace(manifest))
	for _, name := range []string{"web", "api"} {
		ns.WaitForRollout(name, "to be Healthy", settledOn("1", 1))
		ns.SetImage(name, "nginx:2")
	}
	has := func(want ...string) func(*unstructured.Unstructured) bool {
		return func(o *unstructured.Unstructured) bool {
			mirrors, _, _ := unstructured.NestedSlice(o.Object, "spec", "mirroring", "mirrors")
			names := map[string]bool{}
			for _, mirror := range mirrors {
				names[fmt.Sprint(mirror.(map[string]any)["name"])] = true
			}
			return len(mirrors) == len(want) && slices.Equal(slices.Sorted(maps.Keys(names)), want)
		}
	}
	ns.WaitForRoute(copies.GroupVersionKind(), "copies", "to copy to both", has("api-canary", "audit", "web-canary"))
	ns.DeleteRollout("web")
	ns.WaitForRoute(copies.GroupVersionKind(), "copies", "to copy to the other one", has("api-canary", "audit"))
	ns.WaitForRollout("api", "to pause with copies", both(playtest.AtStep(2), playtest.Paused))
	ns.PatchStatus("api", `{"status":{"promoteFull":true}}`)
	ns.WaitForRoute(copies.GroupVersionKind(), "copies", "to have the mirrors of its author", mirrors(alone))
}

// A controller that is killed with kill -9 at any moment leaves no copies behind.
func TestTraefikMirrorsKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(9, 1))
	ns := playtest.New(t)
	copies := createMirrored(t, ns)
	ns.StartController()
	ns.CreateRollout(routed(4, byMirrors, `[{setCanaryScale: {replicas: 1}}, {setMirrorRoute: {name: copy, match: [{path: {prefix: /}}]}}, {pause: {duration: 1}},
		{setWeight: 25}, {setCanaryScale: {matchTrafficWeight: true}}, {pause: {duration: 1}}, {setMirrorRoute: {name: copy}}, {setWeight: 75}, {pause: {duration: 1}}]`, listedMore))
	ns.WaitForRollout("web", "to be Healthy", settledOn("1", 4))
	history := ns.Record()
	for image := 2; image <= 3; image++ {
		ns.SetImage("web", fmt.Sprintf("nginx:%d", image))
		history.KillWhileMoving(random, 4, 6)
	}
	ns.WaitForRollout("web", "to be Healthy on the last version", settled(4))
	ns.WaitForRoute(copies.GroupVersionKind(), "copies", "to have the mirrors of its author", mirrors(alone))
	promise{replicas: 4, maxUnavailable: 1}.check(t, history.Stop())
}
