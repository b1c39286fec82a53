package controller_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

// blueGreen is a Rollout named web; strategy is the YAML below spec.strategy.blueGreen.
func blueGreen(replicas int, strategy string) string {
	return strings.Replace(canary(replicas, strategy), "    canary:", "    blueGreen:", 1)
}

func createServices(t *testing.T, ns *playtest.Namespace, names ...string) {
	t.Helper()
	for _, name := range names {
		service := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns.Name},
			Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}},
		}
		if err := ns.Client.Create(t.Context(), service); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBlueGreenSequenceOfEvents(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	createServices(t, ns, "active", "preview")
	ns.StartController()
	ns.CreateRollout(blueGreen(3, `{activeService: active, previewService: preview, autoPromotionEnabled: false, previewReplicaCount: 1, scaleDownDelaySeconds: 3}`))
	first := ns.WaitForRollout("web", "to be Healthy", playtest.Healthy).Status.CurrentPodHash

	history := ns.Record()
	ns.SetImage("web", "nginx:2")
	held := ns.WaitForRollout("web", "to wait for a person", playtest.Paused)
	second := held.Status.CurrentPodHash
	if s := held.Status; s.BlueGreen.ActiveSelector != first || s.BlueGreen.PreviewSelector != second || s.UpdatedReplicas != 1 || s.AvailableReplicas != 3 {
		t.Errorf("at the gate: active %s, preview %s, %d updated, %d available; want the first and the second version, 1 and 3",
			s.BlueGreen.ActiveSelector, s.BlueGreen.PreviewSelector, s.UpdatedReplicas, s.AvailableReplicas)
	}
	ns.PatchStatus("web", resume)
	ns.WaitForRollout("web", "to be Healthy on the second version", playtest.Healthy)
	ns.WaitForRollout("web", "to have only the second version's pods", func(ro *v1alpha1.Rollout) bool { return ro.Status.Replicas == 3 })
	checkCutover(t, history.Stop(), "active", 3)
}

// checkCutover holds a recording against what a blue-green rollout promises of its active Service.
func checkCutover(t *testing.T, points []playtest.Point, active string, replicas int32) {
	t.Helper()
	served := map[string]bool{points[0].Selected[active]: true}
	for i, p := range points[1:] {
		before := points[i]
		from, to := before.Selected[active], p.Selected[active]
		if from != to {
			if set := before.Sets[to]; set.Status.AvailableReplicas < replicas || *set.Spec.Replicas < replicas {
				t.Errorf("the active service moved to a version with %d of %d pods available, at %s", set.Status.AvailableReplicas, replicas, p)
			}
			if set := before.Sets[from]; from != "" && *set.Spec.Replicas < replicas {
				t.Errorf("the version that served had lost pods already when the active service left it, at %s", p)
			}
		}
		if set, ok := p.Sets[to]; ok && *set.Spec.Replicas < replicas {
			t.Errorf("the version that the active service selects was scaled to %d, at %s", *set.Spec.Replicas, p)
		}
		served[to] = true
		for hash := range served {
			checkDelay(t, before.Sets[hash], p.Sets[hash])
		}
	}
}

// checkDelay demands that a version that has served keeps its pods until the deadline that it was given.
func checkDelay(t *testing.T, before, now appsv1.ReplicaSet) {
	t.Helper()
	if before.Spec.Replicas == nil || now.Spec.Replicas == nil || *now.Spec.Replicas >= *before.Spec.Replicas {
		return
	}
	deadline, err := time.Parse(time.RFC3339, before.Annotations[v1alpha1.ScaleDownDeadlineAnnotation])
	if err != nil {
		t.Errorf("%s had served and was scaled from %d to %d without a deadline: %v", now.Name, *before.Spec.Replicas, *now.Spec.Replicas, err)
		return
	}
	i := slices.IndexFunc(now.ManagedFields, func(f metav1.ManagedFieldsEntry) bool { return f.Manager == "sluice-controller" && f.Subresource == "" })
	if i < 0 {
		t.Fatalf("nothing tells when the controller scaled %s: %v", now.Name, now.ManagedFields)
	}
	if written := now.ManagedFields[i].Time; written.Time.Before(deadline) {
		t.Errorf("%s was scaled down at %s, before its deadline, %s", now.Name, written, deadline)
	}
}

func TestBlueGreenKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(2, 2))
	ns := playtest.New(t)
	createServices(t, ns, "active", "preview")
	ns.StartController()
	ns.CreateRollout(blueGreen(3, `{activeService: active, previewService: preview, autoPromotionSeconds: 1, previewReplicaCount: 1, scaleDownDelaySeconds: 2}`))
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	history := ns.Record()
	for image := 2; image <= 4; image++ {
		ns.SetImage("web", fmt.Sprintf("nginx:%d", image))
		history.KillWhileMoving(random, 4, 8)
	}
	ns.WaitForRollout("web", "to be Healthy on the last version", both(playtest.Healthy, pods(3)))
	checkCutover(t, history.Stop(), "active", 3)
}

func TestBlueGreenServicesThatAreWrong(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	ns.StartController()
	web := ns.CreateRollout(blueGreen(1, `{activeService: active, previewService: preview}`))
	ns.WaitForRollout("web", "to name both", func(ro *v1alpha1.Rollout) bool {
		return playtest.Degraded(ro) && strings.Contains(ro.Status.Message, `activeService: service "active" not found`) &&
			strings.Contains(ro.Status.Message, `previewService: service "preview" not found`)
	})
	createServices(t, ns, "active")
	ns.WaitForRollout("web", "to name the other only", func(ro *v1alpha1.Rollout) bool {
		return !strings.Contains(ro.Status.Message, `"active"`) && strings.Contains(ro.Status.Message, `"preview" not found`)
	})
	createServices(t, ns, "preview")
	ns.WaitForRollout("web", "to be Healthy by itself", playtest.Healthy)

	other := strings.Replace(blueGreen(1, `{activeService: active}`), "{name: web}", "{name: other}", 1)
	other = strings.Replace(other, "matchLabels: {app: web}", "matchLabels: {copy: other}", 1)
	ns.CreateRollout(strings.Replace(other, "labels: {app: web}", "labels: {app: web, copy: other}", 1))
	taken := ns.WaitForRollout("other", "to be told that the service is taken", playtest.Degraded)
	if want := `Service "active" is managed by another Rollout, "web"`; !strings.Contains(taken.Status.Message, want) {
		t.Errorf("message %q does not say %q", taken.Status.Message, want)
	}
	if err := ns.Client.Delete(t.Context(), web); err != nil {
		t.Fatal(err)
	}
	ns.WaitForRollout("other", "to be Healthy once the service is free", playtest.Healthy)
}

func TestBlueGreenServicesAreReleased(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	createServices(t, ns, "active", "preview")
	ns.StartController()
	ro := ns.CreateRollout(blueGreen(1, `{activeService: active, previewService: preview}`))
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	ns.Patch("web", `{"spec":{"strategy":{"blueGreen":{"previewService":null}}}}`)
	ns.WaitForService("preview", "to be released", released)
	if err := ns.Client.Delete(t.Context(), ro); err != nil {
		t.Fatal(err)
	}
	ns.WaitForService("active", "to be released when the Rollout is gone", released)
}

func released(s *corev1.Service) bool {
	return s.Spec.Selector[v1alpha1.PodTemplateHashLabel] == "" && s.Annotations[v1alpha1.ManagedByAnnotation] == ""
}

func TestC28SwitchingTheStrategy(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	createServices(t, ns, "active")
	ns.StartController()
	ns.CreateRollout(canary(2, `{steps: [{setWeight: 50}, {pause: {}}]}`))
	first := ns.WaitForRollout("web", "to be Healthy as a canary", playtest.Healthy).Status.StableRS
	ns.Patch("web", `{"spec":{"strategy":{"canary":null,"blueGreen":{"activeService":"active","scaleDownDelaySeconds":1}}}}`)
	ns.WaitForRollout("web", "to serve as blue-green", func(ro *v1alpha1.Rollout) bool {
		return playtest.Healthy(ro) && ro.Status.BlueGreen.ActiveSelector == first
	})
	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to be Healthy on the second version", func(ro *v1alpha1.Rollout) bool {
		return playtest.Healthy(ro) && ro.Status.StableRS != first
	})
	ns.Patch("web", `{"spec":{"strategy":{"blueGreen":null,"canary":{"steps":[{"setWeight":50},{"pause":{}}]}}}}`)
	ns.WaitForService("active", "to be released", released)
	ns.SetImage("web", "nginx:3")
	ns.WaitForRollout("web", "to pause as a canary", playtest.AtStep(1))
}
