package controller_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// The versions of an update that is under way, with hashes that are not ours: an update of the controller, or another one, may compute
// another.
const stableHash, nextHash = "6cf78c66c5", "74f5d8c69b"

// left is what the Argo Rollouts controller leaves in the middle of an update.
type left struct {
	rollout string
	// stable and next are how many pods the versions have.
	stable, next int32
	// services are the versions that Services select.
	services map[string]string
	// weight is what the route gives the canary, of 100; 0 where there is no route.
	weight int32
	// pause is why it is paused, and status what else its status says.
	pause  v1alpha1.PauseReason
	status string
	// resumed is what the Rollout comes to after the pause; it is resumed there too, if it is another pause.
	resumed func(*v1alpha1.Rollout) bool
}

func TestC9TakeOver(t *testing.T) {
	for name, l := range map[string]left{
		"a canary by pods": {
			rollout: canary(4, `{maxUnavailable: 0, maxSurge: 1, steps: [{setWeight: 25}, {pause: {}}, {setWeight: 50}, {pause: {}}]}`),
			stable:  3, next: 1, pause: v1alpha1.PauseReasonCanaryPauseStep,
			status:  `"blueGreen": {}, "canary": {}, "currentStepIndex": 1, "updatedReplicas": 1, "HPAReplicas": 4, "replicas": 4, "availableReplicas": 4, "readyReplicas": 4`,
			resumed: playtest.AtStep(3),
		},
		"a canary by traffic": {
			rollout: routed(4, `{plugins: {argoproj-labs/gatewayAPI: {httpRoute: web}}}`, `[{setWeight: 50}, {pause: {}}, {setWeight: 75}, {pause: {}}]`, ""),
			stable:  4, next: 2, pause: v1alpha1.PauseReasonCanaryPauseStep,
			services: map[string]string{"web-stable": stableHash, "web-canary": nextHash}, weight: 50,
			status: `"blueGreen": {}, "currentStepIndex": 1, "updatedReplicas": 2, "HPAReplicas": 6, "replicas": 6, "availableReplicas": 6, "readyReplicas": 6,
				"canary": {"weights": {"canary": {"weight": 50, "serviceName": "web-canary", "podTemplateHash": "` + nextHash + `"},
					"stable": {"weight": 50, "serviceName": "web-stable", "podTemplateHash": "` + stableHash + `"}}}`,
			resumed: playtest.AtStep(3),
		},
		"a blue-green before its switch": {
			rollout: blueGreen(3, `{activeService: active, previewService: preview, autoPromotionEnabled: false, scaleDownDelaySeconds: 1}`),
			stable:  3, next: 3, pause: v1alpha1.PauseReasonBlueGreenPause,
			services: map[string]string{"active": stableHash, "preview": nextHash},
			status: `"canary": {}, "updatedReplicas": 3, "HPAReplicas": 3, "replicas": 6, "availableReplicas": 3, "readyReplicas": 3,
				"blueGreen": {"activeSelector": "` + stableHash + `", "previewSelector": "` + nextHash + `"}`,
			resumed: playtest.Healthy,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l.takeOver(t)
		})
	}
}

// takeOver puts into the cluster what is left behind and starts our controller, which goes on from that very point: with the
// ReplicaSets that are there, and not a pod, a selector or a weight of them changed before the update is resumed.
func (l left) takeOver(t *testing.T) {
	ns := playtest.New(t)
	ro := ns.CreateRollout(l.rollout)
	stable := l.set(ns, ro, stableHash, "nginx:0", l.stable, "1")
	next := l.set(ns, ro, nextHash, ro.Spec.Template.Spec.Containers[0].Image, l.next, "2")
	objects := []client.Object{stable, next}
	for name, hash := range l.services {
		objects = append(objects, l.service(ns, name, hash))
	}
	if l.weight > 0 {
		objects = append(objects, l.route(ns))
	}
	for _, o := range objects {
		if err := ns.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	ns.WaitUntil("all pods are available", func() error {
		for _, set := range ns.ReplicaSets() {
			if set.Status.AvailableReplicas != *set.Spec.Replicas {
				return fmt.Errorf("%s has %d of %d", set.Name, set.Status.AvailableReplicas, *set.Spec.Replicas)
			}
		}
		return nil
	})
	ns.Patch("web", `{"metadata": {"annotations": {"rollout.argoproj.io/revision": "2"}}}`)
	l.writeStatus(ns)
	before := l.serving(t, ns)

	history := ns.Record()
	ns.StartController("--rollout-threads=1")
	ns.Marker()
	is := ns.Rollout("web")
	if !playtest.Paused(is) || is.Status.StableRS != stableHash || is.Status.CurrentPodHash != nextHash || len(is.Status.PauseConditions) == 0 {
		t.Fatalf("taken over as step %d, phase %s (%s), stable %s, new %s", value(is.Status.CurrentStepIndex), is.Status.Phase, is.Status.Message,
			is.Status.StableRS, is.Status.CurrentPodHash)
	}
	if diff := cmp.Diff(before, l.serving(t, ns)); diff != "" {
		t.Errorf("what serves before (-) and after the controller came (+):\n%s", diff)
	}
	ns.PatchStatus("web", resume) // kubectl argo rollouts promote
	if is = ns.WaitForRollout("web", "to go on", l.resumed); !playtest.Healthy(is) {
		ns.PatchStatus("web", resume)
	}
	ns.WaitForRollout("web", "to be Healthy", func(ro *v1alpha1.Rollout) bool {
		return playtest.Healthy(ro) && ro.Status.StableRS == nextHash
	})
	for _, set := range ns.ReplicaSets() {
		if metav1.IsControlledBy(&set, ro) && set.Name != stable.Name && set.Name != next.Name {
			t.Errorf("a third ReplicaSet was made: %s", set.Name)
		}
	}
	for _, point := range history.Stop() {
		if point.Available() < *ro.Spec.Replicas {
			t.Errorf("%d of %d pods were available: %v", point.Available(), *ro.Spec.Replicas, point)
		}
	}
}

// set is a ReplicaSet as the Argo Rollouts controller makes it.
func (left) set(ns *playtest.Namespace, ro *v1alpha1.Rollout, hash, image string, replicas int32, revision string) *appsv1.ReplicaSet {
	labels := map[string]string{"app": "web", v1alpha1.PodTemplateHashLabel: hash}
	template := *ro.Spec.Template.DeepCopy()
	template.Labels = labels
	template.Spec.Containers[0].Image = image
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: ns.Name, Name: "web-" + hash, Labels: labels,
			Annotations: map[string]string{
				v1alpha1.RevisionAnnotation: revision, v1alpha1.DesiredReplicasAnnotation: fmt.Sprint(*ro.Spec.Replicas),
			},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(ro, v1alpha1.RolloutGVK)},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas, Template: template,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
		},
	}
}

func (left) service(ns *playtest.Namespace, name, hash string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: name, Annotations: map[string]string{v1alpha1.ManagedByAnnotation: "web"}},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": "web", v1alpha1.PodTemplateHashLabel: hash}, Ports: []corev1.ServicePort{{Port: 80}},
		},
	}
}

func (l left) route(ns *playtest.Namespace) *unstructured.Unstructured {
	route := sim.HTTPRoute("web", "web-stable")
	route.SetNamespace(ns.Name)
	backend := func(service string, weight int32) any {
		return map[string]any{"name": service, "port": int64(80), "weight": int64(weight)}
	}
	route.Object["spec"].(map[string]any)["rules"] = []any{map[string]any{"backendRefs": []any{
		backend("web-stable", 100-l.weight), backend("web-canary", l.weight),
	}}}
	return route
}

func (l left) writeStatus(ns *playtest.Namespace) {
	ro := ns.Rollout("web")
	began := time.Now().UTC().Truncate(time.Second).Format(time.RFC3339)
	condition := func(kind, status, reason, message string) string {
		return fmt.Sprintf(`{"type": %q, "status": %q, "reason": %q, "message": %q, "lastUpdateTime": %q, "lastTransitionTime": %q}`,
			kind, status, reason, message, began, began)
	}
	stepHash := ""
	if c := ro.Spec.Strategy.Canary; c != nil {
		stepHash = spec.StepHash(c.Steps) // test vectors of Argo Rollouts show that it equals theirs
	}
	ns.PatchStatus("web", `{"status": {
		"selector": "app=web", "stableRS": "`+stableHash+`", "currentPodHash": "`+nextHash+`", "currentStepHash": "`+stepHash+`", `+l.status+`,
		"controllerPause": true, "pauseConditions": [{"reason": "`+string(l.pause)+`", "startTime": "`+began+`"}],
		"observedGeneration": "`+fmt.Sprint(ro.Generation)+`", "phase": "Paused", "message": "`+string(l.pause)+`",
		"conditions": [`+condition("Available", "True", "AvailableReason", "Rollout has minimum availability")+`,
			`+condition("Completed", "False", "RolloutCompleted", "RolloutCompleted")+`,
			`+condition("Paused", "True", "RolloutPaused", "Rollout is paused")+`,
			`+condition("Progressing", "Unknown", "RolloutPaused", "Rollout is paused")+`]}}`)
}

// serving is what serves: how many pods of each version, who selects them, and what the route gives them.
func (l left) serving(t *testing.T, ns *playtest.Namespace) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, set := range ns.ReplicaSets() {
		if set.Labels["app"] == "web" {
			all[set.Name] = *set.Spec.Replicas
		}
	}
	for name := range l.services {
		var service corev1.Service
		if err := ns.Client.Get(t.Context(), client.ObjectKey{Namespace: ns.Name, Name: name}, &service); err != nil {
			t.Fatal(err)
		}
		all[name] = service.Spec.Selector
	}
	if l.weight > 0 {
		route := sim.HTTPRoute("web", "web-stable")
		if err := ns.Client.Get(t.Context(), client.ObjectKey{Namespace: ns.Name, Name: "web"}, route); err != nil {
			t.Fatal(err)
		}
		all["route"] = route.Object["spec"]
	}
	return all
}

func value(i *int32) int32 {
	if i == nil {
		return -1
	}
	return *i
}
