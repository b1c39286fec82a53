package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/internal/playtest"
)

// Triggers on the events that only one traffic router has fire for what the controller publishes, once for each weight.
func TestEventsOfARouterFireTriggers(t *testing.T) {
	ns := playtest.New(t)
	hooks, server := webhook(t, nil)
	configure(t, ns, "argo-rollouts", map[string]string{
		"service.webhook.hook":               "url: " + server.URL + "\ninsecureSkipVerify: true",
		"template.t":                         "webhook: {hook: {method: POST, body: '{{.trigger}}: {{.event.message}}.'}}",
		"trigger.on-creating-canary-ingress": "- send: [t]",
		"trigger.on-patching-canary-ingress": "- send: [t]",
	}, nil)
	ingress := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(`
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec: {rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web-stable, port: {number: 80}}}}]}}]}
`), &ingress.Object); err != nil {
		t.Fatal(err)
	}
	ingress.SetNamespace(ns.Name)
	objects := []client.Object{ingress}
	for _, name := range []string{"web-stable", "web-canary"} {
		objects = append(objects, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: name},
			Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}},
		})
	}
	for _, o := range objects {
		if err := ns.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	ns.StartController()
	n := startNotifier(t, ns, nil)
	ns.CreateRollout(`
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata:
  name: web
  annotations:
    notifications.argoproj.io/subscribe.on-creating-canary-ingress.hook: ""
    notifications.argoproj.io/subscribe.on-patching-canary-ingress.hook: ""
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "nginx:1"}]
  strategy:
    canary:
      stableService: web-stable
      canaryService: web-canary
      trafficRouting: {nginx: {stableIngress: web}}
      steps: [{setWeight: 50}, {pause: {}}]
`)
	created, patched := "on-creating-canary-ingress: Creating Ingress `web-web-canary` with desiredWeight '0'.", "on-patching-canary-ingress: Updating Ingress `web-web-canary` to desiredWeight '50'."
	hooks.wait(t, created)
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to pause", playtest.Paused)
	hooks.wait(t, patched)
	n.kill()
	for _, once := range []string{created, patched} {
		if all := hooks.containing(once); len(all) != 1 {
			t.Errorf("%q came %d times", once, len(all))
		}
	}
}
