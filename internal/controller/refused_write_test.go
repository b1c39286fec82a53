package controller_test

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

// A policy of the cluster refuses that a Service is changed. The pods come all the same, the Rollout says why it does not go on, and goes on when
// the policy is gone.
func TestAServiceThatMayNotBeChanged(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: ns.Name},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(80)}}},
	}
	createObject(t, ns, service)
	thaw := freeze(t, ns, "", "services")
	ns.WaitUntil("the policy to hold", func() error {
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata": {"labels": {"probe": "yes"}}}`))
		if err := ns.Client.Patch(t.Context(), service.DeepCopy(), patch, client.DryRunAll); err == nil {
			return errors.New("not yet")
		}
		return nil
	})
	ns.StartController()
	ns.CreateRollout(canary(2, `{stableService: web}`))
	ns.WaitForRollout("web", "to say what is refused", func(ro *v1alpha1.Rollout) bool {
		return ro.Status.Phase == v1alpha1.RolloutPhaseDegraded && strings.HasPrefix(ro.Status.Message, "WriteRefused: patch Service web: ") &&
			strings.Contains(ro.Status.Message, "services are frozen")
	})
	ns.WaitUntil("the pods to be there all the same", func() error {
		sets := ns.ReplicaSets()
		if len(sets) != 1 || sets[0].Status.AvailableReplicas != 2 {
			return errors.New("not yet")
		}
		return nil
	})
	thaw()
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
}

// freeze has a policy refuse every update of a resource in the namespace, or other operations, from a moment later on and until thaw is called.
func freeze(t *testing.T, ns *playtest.Namespace, group, resource string, operations ...string) (thaw func()) {
	t.Helper()
	if len(operations) == 0 {
		operations = []string{"UPDATE"}
	}
	policy := strings.NewReplacer("NAMESPACE", ns.Name, "GROUP", group, "RESOURCE", resource, "OPERATIONS", strings.Join(operations, ", ")).Replace(`
- apiVersion: admissionregistration.k8s.io/v1
  kind: ValidatingAdmissionPolicy
  metadata: {name: frozen-NAMESPACE}
  spec:
    matchConstraints:
      namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}
      resourceRules: [{apiGroups: ["GROUP"], apiVersions: ["*"], resources: [RESOURCE], operations: [OPERATIONS]}]
    validations: [{expression: "false", message: RESOURCE are frozen}]
- apiVersion: admissionregistration.k8s.io/v1
  kind: ValidatingAdmissionPolicyBinding
  metadata: {name: frozen-NAMESPACE}
  spec: {policyName: frozen-NAMESPACE, validationActions: [Deny]}
`)
	var objects []map[string]any
	if err := yaml.Unmarshal([]byte(policy), &objects); err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if err := ns.Client.Create(t.Context(), &unstructured.Unstructured{Object: o}); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		t.Helper()
		for _, o := range objects {
			if err := ns.Client.Delete(t.Context(), &unstructured.Unstructured{Object: o}); err != nil {
				t.Fatal(err)
			}
		}
	}
}
