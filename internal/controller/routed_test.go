package controller_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/traffic/gatewayapi"
)

// routers are the traffic routers under test, as the spec sets them up.
var routers = map[string]string{
	"GatewayAPI":                            `{gatewayAPI: {httpRoute: web}}`,
	"the Gateway API plugin's own settings": `{plugins: {argoproj-labs/gatewayAPI: {httpRoute: web}}}`,
	"Nginx":                                 `{nginx: {stableIngress: web}}`,
}

// routed is a canary with a router; more is further YAML of the strategy.
func routed(replicas int, router, steps, more string) string {
	strategy := fmt.Sprintf(`{canaryService: web-canary, stableService: web-stable, trafficRouting: %s, steps: %s`, router, steps)
	if more != "" {
		strategy += ", " + more
	}
	return canary(replicas, strategy+"}")
}

// listening has the pods of a manifest listen on a port, which the Service of an experiment's template needs.
func listening(manifest string) string {
	return strings.Replace(manifest, `image: "nginx:1"`, `image: "nginx:1", ports: [{containerPort: 80}]`, 1)
}

// createRoute creates what the routers of a Rollout split, named web, and the Services.
func createRoute(t *testing.T, ns *playtest.Namespace, manifest string) {
	t.Helper()
	createServices(t, ns, "web-canary", "web-stable")
	for router, object := range map[string]*unstructured.Unstructured{
		"gatewayAPI: {": sim.HTTPRoute("web", "web-stable"), "nginx: {": sim.Ingress("web", "web-stable"),
	} {
		if strings.Contains(manifest, router) {
			createObject(t, ns, object)
		}
	}
}

// promise is what a routed canary promises while it is updated.
type promise struct {
	// replicas is the least that the Rollout asks for in all the time.
	replicas       int32
	maxUnavailable int32
	dynamic        bool
	// most is how many pods there may be, 0 for any number.
	most int32
}

// check holds a recording against the promise, at each resourceVersion.
func (p promise) check(t *testing.T, points []playtest.Point) {
	t.Helper()
	served := map[string]bool{}
	for i, now := range points[1:] {
		before := points[i]
		if p.most > 0 && now.Desired() > p.most {
			t.Errorf("more than %d pods, at %s", p.most, now)
		}
		for route := range now.Routes {
			p.checkTraffic(t, before, now, route)
			for hash, share := range now.Traffic(route) {
				served[hash] = served[hash] || share > 0
			}
		}
		for hash := range served {
			if set, ok := now.Sets[hash]; !p.dynamic && ok && *set.Spec.Replicas == 0 {
				checkDelay(t, before.Sets[hash], set)
			}
		}
	}
}

// checkTraffic checks that nothing is sent to a version without pods, that traffic moves only to pods that can carry it, that pods are not
// deleted while they carry it, and that an abort sends none to the canary.
func (p promise) checkTraffic(t *testing.T, before, now playtest.Point, route string) {
	t.Helper()
	had := before.Traffic(route)
	for hash, share := range now.Traffic(route) {
		if share == 0 || hash == "" {
			continue
		}
		set, was := now.Sets[hash], before.Sets[hash]
		needed := (share*p.replicas+99)/100 - p.maxUnavailable
		switch {
		case set.Spec.Replicas == nil || *set.Spec.Replicas == 0 && now.Replicas > 0:
			t.Errorf("%d %% of the traffic goes to %s, which has no pods, at %s", share, hash, now)
		case share > had[hash] && was.Status.AvailableReplicas < needed:
			t.Errorf("%s was given %d %% of the traffic with %d pods available, at %s", hash, share, was.Status.AvailableReplicas, now)
		case *set.Spec.Replicas < desired(was) && *set.Spec.Replicas < needed:
			t.Errorf("%s was scaled from %d to %d pods with %d %% of the traffic, at %s", hash, desired(was), *set.Spec.Replicas, share, now)
		}
	}
	canary := func(point playtest.Point) int32 { return point.Routes[route]["web-canary"] }
	if before.Aborted && now.Aborted && canary(now) > canary(before) {
		t.Errorf("the weight of the canary rose after the abort, at %s", now)
	}
}

func desired(set appsv1.ReplicaSet) int32 {
	if set.Spec.Replicas == nil {
		return 0
	}
	return *set.Spec.Replicas
}

// weightIs waits for a weight of the canary, in the status.
func weightIs(weight int32) func(*v1alpha1.Rollout) bool {
	return func(ro *v1alpha1.Rollout) bool {
		return ro.Status.Canary.Weights != nil && ro.Status.Canary.Weights.Canary.Weight == weight
	}
}

// settledOn waits until nothing is left of other versions, nor of weights.
func settledOn(n string, replicas int32) func(*v1alpha1.Rollout) bool {
	return both(revision(n), settled(replicas))
}

// settled says nothing about the revision: a controller that is killed at any moment may never see a template that the next one replaces.
func settled(replicas int32) func(*v1alpha1.Rollout) bool {
	return both(playtest.Healthy, pods(replicas), weightIs(0))
}

const twoWeights = `[{setWeight: 25}, {pause: {}}, {setWeight: 75}, {pause: {}}]`

// TestC1RoutedCanaryFromEndToEnd: traffic leaves before pods do, through a promotion, an abort, a retry, a rollback, and a third version.
func TestC1RoutedCanaryFromEndToEnd(t *testing.T) {
	t.Parallel()
	for name, router := range routers {
		for _, dynamic := range []bool{false, true} {
			if dynamic && strings.Contains(name, "plugin") {
				continue // the very same router
			}
			t.Run(fmt.Sprintf("%s, dynamicStableScale %t", name, dynamic), func(t *testing.T) {
				t.Parallel()
				more := "scaleDownDelaySeconds: 1, abortScaleDownDelaySeconds: 1, maxUnavailable: 1"
				if dynamic {
					more = "dynamicStableScale: true, maxUnavailable: 1"
				}
				wholeStory(t, routed(4, router, twoWeights, more), dynamic)
			})
		}
	}
}

func wholeStory(t *testing.T, manifest string, dynamic bool) {
	t.Helper()
	ns := playtest.New(t)
	createRoute(t, ns, manifest)
	tellStory(t, ns, manifest, dynamic)
}

// tellStory is the whole story, where what the router splits is there.
func tellStory(t *testing.T, ns *playtest.Namespace, manifest string, dynamic bool) {
	t.Helper()
	ns.StartController()
	ns.CreateRollout(manifest)
	ns.WaitForRollout("web", "to be Healthy", settledOn("1", 4))
	history := ns.Record()

	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to pause at 25 %", both(playtest.AtStep(1), playtest.Paused, weightIs(25)))
	ns.PatchStatus("web", resume)
	ns.WaitForRollout("web", "to pause at 75 %", both(playtest.AtStep(3), playtest.Paused, weightIs(75)))

	ns.PatchStatus("web", `{"status":{"abort":true}}`)
	ns.WaitForRollout("web", "to be back at the stable version", both(playtest.Degraded, weightIs(0), pods(4)))
	ns.PatchStatus("web", `{"status":{"abort":false}}`)
	ns.WaitForRollout("web", "to pause at 25 % again", both(playtest.AtStep(1), playtest.Paused, weightIs(25)))

	scaleTo(t, ns, 6) // as an autoscaler does
	ns.WaitForRollout("web", "to have pods for 6", func(ro *v1alpha1.Rollout) bool { return ro.Status.AvailableReplicas >= 6 })
	scaleTo(t, ns, 4)

	ns.SetImage("web", "nginx:3")
	ns.WaitForRollout("web", "to pause at 25 % of the third version", both(playtest.AtStep(1), playtest.Paused, weightIs(25), revision("3")))
	ns.SetImage("web", "nginx:1")
	ns.WaitForRollout("web", "to be back on the first version", settledOn("4", 4))

	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to pause at 25 % of the second version", both(playtest.AtStep(1), playtest.Paused, weightIs(25), revision("5")))
	ns.PatchStatus("web", `{"status":{"promoteFull":true}}`)
	ns.WaitForRollout("web", "to be Healthy on the second version", settledOn("5", 4))
	promise{replicas: 4, maxUnavailable: 1, dynamic: dynamic}.check(t, history.Stop())
}

// scaleTo sets the size through the scale subresource, and demands that this tells what an autoscaler needs: all pods that serve, and how
// to find them.
func scaleTo(t *testing.T, ns *playtest.Namespace, replicas int32) {
	t.Helper()
	ro := ns.Rollout("web")
	scale := &autoscalingv1.Scale{}
	if err := ns.Client.SubResource("scale").Get(t.Context(), ro, scale); err != nil {
		t.Fatal(err)
	}
	if scale.Status.Selector != "app=web" || scale.Status.Replicas < scale.Spec.Replicas {
		t.Errorf("the scale subresource reports %d pods of %q; want at least %d of app=web", scale.Status.Replicas, scale.Status.Selector, scale.Spec.Replicas)
	}
	scale.Spec.Replicas, scale.ResourceVersion = replicas, "" // whatever else is written meanwhile
	if err := ns.Client.SubResource("scale").Update(t.Context(), ro, client.WithSubResourceBody(scale)); err != nil {
		t.Fatal(err)
	}
}

func both(all ...func(*v1alpha1.Rollout) bool) func(*v1alpha1.Rollout) bool {
	return func(ro *v1alpha1.Rollout) bool {
		for _, is := range all {
			if !is(ro) {
				return false
			}
		}
		return true
	}
}

func pods(n int32) func(*v1alpha1.Rollout) bool {
	return func(ro *v1alpha1.Rollout) bool { return ro.Status.Replicas == n }
}

func revision(n string) func(*v1alpha1.Rollout) bool {
	return func(ro *v1alpha1.Rollout) bool { return ro.Annotations[v1alpha1.RevisionAnnotation] == n }
}

func TestRoutedCanaryKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	for seed, more := range []string{
		"scaleDownDelaySeconds: 1, maxUnavailable: 1",
		"dynamicStableScale: true, maxUnavailable: 1",
		"dynamicStableScale: true, enforceMaxSurge: true, maxSurge: 1, maxUnavailable: 1",
	} {
		for _, name := range []string{"GatewayAPI", "Nginx"} {
			router := routers[name]
			t.Run(name+", "+more, func(t *testing.T) {
				t.Parallel()
				random := rand.New(rand.NewPCG(3, uint64(seed)))
				ns := playtest.New(t)
				manifest := routed(4, router, `[{setWeight: 25}, {pause: {duration: 1}}, {setWeight: 75}, {pause: {duration: 1}}]`, more)
				createRoute(t, ns, manifest)
				ns.StartController()
				ns.CreateRollout(manifest)
				ns.WaitForRollout("web", "to be Healthy", settledOn("1", 4))
				history := ns.Record()
				for image := 2; image <= 4; image++ {
					ns.SetImage("web", fmt.Sprintf("nginx:%d", image))
					history.KillWhileMoving(random, 3, 8)
				}
				ns.WaitForRollout("web", "to be Healthy on the last version", settled(4))
				p := promise{replicas: 4, maxUnavailable: 1, dynamic: strings.Contains(more, "dynamic")}
				if strings.Contains(more, "enforce") {
					p.most = 5
				}
				p.check(t, history.Stop())
			})
		}
	}
}

// TestRoutedCanaryWithNotesOfThePlugin: a manifest for the Gateway API plugin may name the ConfigMap of the plugin's notes, whether there is
// one or not. The controller may read it, and neither list nor watch ConfigMaps.
func TestRoutedCanaryWithNotesOfThePlugin(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	manifest := routed(2, `{plugins: {argoproj-labs/gatewayAPI: {httpRoute: web, configMap: notes}}}`, `[{setWeight: 50}, {pause: {}}]`, "")
	createRoute(t, ns, manifest)
	ns.StartController()
	ns.CreateRollout(manifest)
	ns.WaitForRollout("web", "to be Healthy", settledOn("1", 2))
	notes := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "notes"}, Data: map[string]string{"httpManagedRoutes": `{"beta":{"web":7}}`}}
	if err := ns.Client.Create(t.Context(), notes); err != nil {
		t.Fatal(err)
	}
	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to pause", both(playtest.Paused, weightIs(50)))
}

// TestC25ManagedRoutesGo: a header route goes with the update that it is for, when it is aborted, and when the Rollout itself is deleted.
func TestC25ManagedRoutesGo(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	manifest := routed(2, `{gatewayAPI: {httpRoute: web}, managedRoutes: [{name: beta}]}`,
		`[{setCanaryScale: {replicas: 1}}, {setHeaderRoute: {name: beta, match: [{headerName: x-beta, headerValue: {exact: "1"}}]}}, {pause: {}}]`, "")
	createRoute(t, ns, manifest)
	ns.StartController()
	rollout := ns.CreateRollout(manifest)
	ns.WaitForRollout("web", "to be Healthy", settledOn("1", 2))
	kind := gatewayapi.GVK("HTTPRoute")
	ns.SetImage("web", "nginx:2")
	ns.WaitForRoute(kind, "web", "to have the header route", rules(2))
	ns.PatchStatus("web", `{"status":{"abort":true}}`)
	ns.WaitForRoute(kind, "web", "to have lost it after the abort", rules(1))
	ns.SetImage("web", "nginx:3")
	ns.WaitForRoute(kind, "web", "to have the header route again", rules(2))
	if err := ns.Client.Delete(t.Context(), rollout); err != nil {
		t.Fatal(err)
	}
	ns.WaitForRoute(kind, "web", "to have lost it with the Rollout", func(o *unstructured.Unstructured) bool {
		return rules(1)(o) && o.GetAnnotations()[v1alpha1.GatewayAPINotesAnnotation] == ""
	})
	for _, name := range []string{"web-canary", "web-stable"} {
		ns.WaitForService(name, "to be released", released)
	}
}

// rules is that many rules in a route.
func rules(n int) func(*unstructured.Unstructured) bool {
	return func(o *unstructured.Unstructured) bool {
		have, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules")
		return len(have) == n
	}
}

// TestC26ExperimentWeights: a template of an experiment step takes its share from the stable version while it runs, by a Service of its
// own, and gives it back.
func TestC26ExperimentWeights(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	manifest := listening(routed(2, routers["GatewayAPI"],
		`[{setWeight: 20}, {experiment: {duration: 5s, scaleDownDelaySeconds: 1, templates: [{name: trial, specRef: canary, weight: 10}]}}, {pause: {}}]`, ""))
	createRoute(t, ns, manifest)
	ns.StartController()
	ns.CreateRollout(manifest)
	ns.WaitForRollout("web", "to be Healthy", settledOn("1", 2))
	ns.SetImage("web", "nginx:2")
	kind := gatewayapi.GVK("HTTPRoute")
	ns.WaitForRoute(kind, "web", "to give the experiment its share", weights(10, 20, 70))
	ns.WaitForRollout("web", "to pause behind the experiment", both(playtest.AtStep(2), playtest.Paused))
	ns.WaitForRoute(kind, "web", "to give the share back", weights(20, 80))
	ns.PatchStatus("web", `{"status":{"promoteFull":true}}`)
	ns.WaitForRollout("web", "to be Healthy on the second version", both(playtest.Healthy, revision("2"), weightIs(0)))
}

// weights are those of the backends of a route's only rule, sorted.
func weights(want ...int64) func(*unstructured.Unstructured) bool {
	return func(o *unstructured.Unstructured) bool {
		rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules")
		refs, _, _ := unstructured.NestedSlice(rules[len(rules)-1].(map[string]any), "backendRefs")
		var have []int64
		for _, ref := range refs {
			weight, _, _ := unstructured.NestedInt64(ref.(map[string]any), "weight")
			have = append(have, weight)
		}
		slices.Sort(have)
		return slices.Equal(have, want)
	}
}
