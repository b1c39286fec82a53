package controller_test

import (
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

// A tenant who may write Rollouts and no Ingresses has the controller write one that ingress-nginx runs as configuration.
func TestARolloutWritesNoConfigurationOfIngressNginx(t *testing.T) {
	t.Parallel()
	const key = "nginx.ingress.kubernetes.io/configuration-snippet"
	ns := playtest.New(t)
	ns.StartController()
	manifest := routed(1, `{nginx: {stableIngress: web, canaryIngressAnnotations: {"`+key+`": "evil;"}}}`, `[{setWeight: 50}, {pause: {}}]`, "")
	createRoute(t, ns, manifest)
	ns.CreateRollout(manifest)
	ns.WaitForRollout("web", "to have a spec that is refused", func(ro *v1alpha1.Rollout) bool {
		for _, c := range ro.Status.Conditions {
			if c.Type == v1alpha1.ConditionInvalidSpec {
				return strings.Contains(c.Message, key) && strings.Contains(c.Message, "--allow-ingress-annotations="+key)
			}
		}
		return false
	})
	ingress := schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}
	all := &metav1.PartialObjectMetadataList{}
	all.SetGroupVersionKind(ingress)
	if err := ns.Client.List(t.Context(), all, client.InNamespace(ns.Name)); err != nil || len(all.Items) != 1 {
		t.Errorf("%d Ingresses (%v), want that of the stable version alone", len(all.Items), err)
	}

	ns.StopController(syscall.SIGTERM)
	ns.StartController("--allow-ingress-annotations=nginx.ingress.kubernetes.io/*-snippet")
	ns.WaitForRollout("web", "to be Healthy, since the operator allows it", playtest.Healthy)
	ns.SetImage("web", "nginx:2")
	ns.WaitForRoute(ingress, "web-web-canary", "to carry the annotation", func(o *unstructured.Unstructured) bool {
		return o.GetAnnotations()[key] == "evil;"
	})
}
