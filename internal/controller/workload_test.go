package controller_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

func TestC34MigratingADeploymentKeepsItsCapacity(t *testing.T) {
	t.Parallel()
	for mode, strategy := range map[string]string{
		"progressively": `canary: {maxSurge: 1, maxUnavailable: 0, steps: [{setWeight: 50}, {pause: {duration: 1}}]}`,
		"onsuccess":     `blueGreen: {activeService: active}`,
		// the router goes on sending to the stable Service, which selects both until the Rollout has all its pods
		"progressively, with a router": `canary: {canaryService: web-canary, stableService: web-stable, trafficRouting: {gatewayAPI: {httpRoute: web}},
        scaleDownDelaySeconds: 1, steps: [{setWeight: 50}, {pause: {duration: 1}}]}`,
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			const replicas = 4
			ns := playtest.New(t)
			createServices(t, ns, "active")
			createRoute(t, ns, strategy)
			createDeployment(t, ns, replicas)
			ns.WaitForDeployment("web", "to serve", func(d *appsv1.Deployment) bool { return d.Status.AvailableReplicas == replicas })
			ns.StartController()

			history := ns.Record()
			scaleDown, _, _ := strings.Cut(mode, ",")
			ns.CreateRollout(referring("Deployment", scaleDown, replicas, strategy))
			history.KillWhileMoving(rand.New(rand.NewPCG(43, 43)), 3, 3)
			ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
			ns.WaitForDeployment("web", "to have no pods any more", func(d *appsv1.Deployment) bool {
				return *d.Spec.Replicas == 0 && d.Status.Replicas == 0
			})

			setDeploymentImage(t, ns, "nginx:2")
			ro := ns.WaitForRollout("web", "to be Healthy on the second version", func(ro *v1alpha1.Rollout) bool {
				return playtest.Healthy(ro) && ro.Annotations[v1alpha1.RevisionAnnotation] == "2"
			})
			if image := imageOfRevision(ns, "2"); image != "nginx:2" {
				t.Errorf("revision 2 runs %s, want nginx:2", image)
			}
			if len(ro.Spec.Template.Spec.Containers) > 0 || ro.Spec.Selector != nil {
				t.Error("the Deployment's template or selector was written into the Rollout")
			}
			for _, p := range history.Stop() {
				if p.Available() < replicas {
					t.Errorf("at resourceVersion %s fewer than %d pods of Deployment and Rollout were available: %s", p.ResourceVersion, replicas, p)
				}
			}
		})
	}
}

// TestC34TheDeploymentGoesAtALaterRevisionToo has a first revision that never ran a pod.
func TestC34TheDeploymentGoesAtALaterRevisionToo(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	createDeployment(t, ns, 2)
	ns.WaitForDeployment("web", "to serve", func(d *appsv1.Deployment) bool { return d.Status.AvailableReplicas == 2 })
	ns.StartController()
	ns.CreateRollout(strings.Replace(referring("Deployment", "progressively", 2, `canary: {}`), "spec:", "spec:\n  paused: true", 1))
	ns.WaitForRollout("web", "to hold before it begins", playtest.Paused)
	setDeploymentImage(t, ns, "nginx:2")
	ns.WaitForRollout("web", "to see the second template", func(ro *v1alpha1.Rollout) bool {
		return ro.Annotations[v1alpha1.RevisionAnnotation] == "2"
	})
	ns.Patch("web", `{"spec":{"paused":null}}`)
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	ns.WaitForDeployment("web", "to have no pods any more", func(d *appsv1.Deployment) bool { return *d.Spec.Replicas == 0 })
}

func TestAWorkloadThatIsMissing(t *testing.T) {
	t.Parallel()
	for kind, create := range map[string]func(*testing.T, *playtest.Namespace){
		"Deployment": func(t *testing.T, ns *playtest.Namespace) { createDeployment(t, ns, 1) },
		"ReplicaSet": func(t *testing.T, ns *playtest.Namespace) {
			createObject(t, ns, &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appsv1.ReplicaSetSpec{
				Replicas: new(int32), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, Template: podTemplate(),
			}})
		},
		"PodTemplate": func(t *testing.T, ns *playtest.Namespace) {
			createObject(t, ns, &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Template: podTemplate()})
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			ns := playtest.New(t)
			ns.StartController()
			manifest := referring(kind, "never", 1, `canary: {}`)
			if kind == "PodTemplate" { // which has no selector to lend
				manifest = strings.Replace(manifest, "spec:", "spec:\n  selector: {matchLabels: {app: web}}", 1)
			}
			ns.CreateRollout(manifest)
			missing := ns.WaitForRollout("web", "to name what is missing", playtest.Degraded)
			if want := fmt.Sprintf(`spec.workloadRef: %s "web" not found`, kind); !strings.Contains(missing.Status.Message, want) {
				t.Errorf("message %q does not say %q", missing.Status.Message, want)
			}
			create(t, ns)
			healthy := ns.WaitForRollout("web", "to be Healthy by itself", playtest.Healthy)
			if want := healthy.Status.WorkloadObservedGeneration; want == "" && kind != "PodTemplate" || healthy.Annotations[v1alpha1.WorkloadGenerationAnnotation] != want {
				t.Errorf("generation %q in the status, %q in the annotation", want, healthy.Annotations[v1alpha1.WorkloadGenerationAnnotation])
			}
		})
	}
}

// referring is a Rollout named web that takes its template from the object of that name.
func referring(kind, scaleDown string, replicas int, strategy string) string {
	group := "apps/v1"
	if kind == "PodTemplate" {
		group = "v1"
	}
	return fmt.Sprintf(`
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web}
spec:
  replicas: %d
  workloadRef: {apiVersion: %s, kind: %s, name: web, scaleDown: %s}
  strategy: {%s}
`, replicas, group, kind, scaleDown, strategy)
}

func podTemplate() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx:1"}}},
	}
}

func createObject(t *testing.T, ns *playtest.Namespace, obj client.Object) {
	t.Helper()
	obj.SetNamespace(ns.Name)
	if err := ns.Client.Create(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
}

func createDeployment(t *testing.T, ns *playtest.Namespace, replicas int32) {
	t.Helper()
	createObject(t, ns, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appsv1.DeploymentSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, Template: podTemplate(),
	}})
}

func setDeploymentImage(t *testing.T, ns *playtest.Namespace, image string) {
	t.Helper()
	patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"web","image":%q}]}}}}`, image)
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "web"}}
	if err := ns.Client.Patch(t.Context(), d, client.RawPatch("application/strategic-merge-patch+json", []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

func imageOfRevision(ns *playtest.Namespace, revision string) string {
	sets := ns.ReplicaSets()
	i := slices.IndexFunc(sets, func(s appsv1.ReplicaSet) bool { return s.Annotations[v1alpha1.RevisionAnnotation] == revision })
	if i < 0 {
		return "nothing"
	}
	return sets[i].Spec.Template.Spec.Containers[0].Image
}
