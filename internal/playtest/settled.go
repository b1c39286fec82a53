package playtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// quiet is how long nothing must happen before a test takes it that nothing will.
const quiet = 5 * time.Second

// WaitForPodsToGo waits until no pod of the namespace's ReplicaSets is on its way out, and the ReplicaSet controller has counted
// those that stay: until then it writes their statuses.
func (ns *Namespace) WaitForPodsToGo() {
	ns.t.Helper()
	ctx, cancel := context.WithTimeout(ns.t.Context(), Patience)
	defer cancel()
	gone := func(set *appsv1.ReplicaSet) bool {
		terminating := set.Status.TerminatingReplicas
		return set.Status.ObservedGeneration == set.Generation && (terminating == nil || *terminating == 0) &&
			set.Status.FullyLabeledReplicas == set.Status.Replicas
	}
	for _, set := range ns.ReplicaSets() {
		if err := await(ctx, ns.Client, &appsv1.ReplicaSetList{}, ns.Name, set.Name, gone); err != nil {
			ns.t.Fatalf("wait for the old pods of %s to go: %v", set.Name, err)
		}
	}
}

// Versions are the resourceVersions of the namespace's Rollouts, Experiments, ReplicaSets, Services and routes.
func (ns *Namespace) Versions() map[string]string {
	ns.t.Helper()
	versions := map[string]string{}
	for _, set := range ns.ReplicaSets() {
		versions["ReplicaSet "+set.Name] = set.ResourceVersion
	}
	var rollouts v1alpha1.RolloutList
	if err := ns.Client.List(ns.t.Context(), &rollouts, client.InNamespace(ns.Name)); err != nil {
		ns.t.Fatal(err)
	}
	for _, ro := range rollouts.Items {
		versions["Rollout "+ro.Name] = ro.ResourceVersion
	}
	for _, ex := range ns.Experiments() {
		versions["Experiment "+ex.Name] = ex.ResourceVersion
	}
	var services corev1.ServiceList
	if err := ns.Client.List(ns.t.Context(), &services, client.InNamespace(ns.Name)); err != nil {
		ns.t.Fatal(err)
	}
	for _, service := range services.Items {
		versions["Service "+service.Name] = service.ResourceVersion
	}
	for gvk := range ns.routeKinds() {
		routes := &unstructured.UnstructuredList{}
		routes.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := ns.Client.List(ns.t.Context(), routes, client.InNamespace(ns.Name)); err != nil {
			ns.t.Fatal(err)
		}
		for _, route := range routes.Items {
			versions[route.GetKind()+" "+route.GetName()] = route.GetResourceVersion()
		}
	}
	return versions
}

// RestartsQuietly restarts the controller once everything has settled, and fails the test for each object that it writes
// then. versions are the resourceVersions that must not change, such as [Namespace.Versions].
func (ns *Namespace) RestartsQuietly(versions func() map[string]string) {
	ns.t.Helper()
	ns.WaitForPodsToGo()
	before := versions()
	ns.StopController(syscall.SIGTERM)
	ns.StartController("--rollout-threads=1") // one Rollout at a time: behind the marker it has seen all
	ns.Marker()
	for name, version := range versions() {
		if was, ok := before[name]; ok && was != version {
			ns.t.Errorf("%s was written: resourceVersion %s became %s", name, was, version)
		}
	}
}

// KillWhileMoving kills the controller and starts another, the given number of times, each after a random number of changes,
// up to most. It ends early when nothing changes anymore.
func (h *History) KillWhileMoving(random *rand.Rand, times, most int) {
	h.ns.t.Helper()
	for range times {
		if !h.WaitForEvents(1 + random.IntN(most)) {
			return
		}
		h.ns.KillController()
	}
}

// KillController kills the controller with kill -9, and starts another.
func (ns *Namespace) KillController() {
	ns.t.Helper()
	ns.StopController(syscall.SIGKILL)
	ns.StartController()
}

// Marker creates a Rollout without pods and waits until the controller has dealt with it, and so, if it works on one at a
// time, with all that came before.
func (ns *Namespace) Marker() {
	ns.t.Helper()
	ns.markers++
	name := fmt.Sprintf("marker-%d", ns.markers)
	ns.CreateRollout(fmt.Sprintf(`
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: %s}
spec:
  replicas: 0
  selector: {matchLabels: {app: marker}}
  template:
    metadata: {labels: {app: marker}}
    spec:
      containers: [{name: marker, image: "nginx:1"}]
  strategy: {canary: {}}
`, name))
	ns.WaitForRollout(name, "to be Healthy", Healthy)
}
