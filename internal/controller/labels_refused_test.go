package controller_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

const refusedRole = "this role is not for running pods"

// refuseRole has the API server refuse to give a running pod this role. What it returns lets pods have it again.
func refuseRole(t *testing.T, ns *playtest.Namespace, role string) (allow func()) {
	t.Helper()
	name := "role-" + ns.Name
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Update},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}}}},
			Validations: []admissionv1.Validation{{
				Expression: fmt.Sprintf(
					"!has(object.metadata.labels) || !('role' in object.metadata.labels) || object.metadata.labels['role'] != '%[1]s' || "+
						"'role' in oldObject.metadata.labels && oldObject.metadata.labels['role'] == '%[1]s'", role),
				Message: refusedRole,
			}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			MatchResources: &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{corev1.LabelMetadataName: ns.Name},
			}},
		},
	}
	admission := kubernetes.NewForConfigOrDie(ns.Config).AdmissionregistrationV1()
	if _, err := admission.ValidatingAdmissionPolicies().Create(t.Context(), policy, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := admission.ValidatingAdmissionPolicyBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	allow = func() { // also after the test, whose context has ended by then
		_ = admission.ValidatingAdmissionPolicyBindings().Delete(context.Background(), name, metav1.DeleteOptions{})
		_ = admission.ValidatingAdmissionPolicies().Delete(context.Background(), name, metav1.DeleteOptions{})
	}
	t.Cleanup(allow)
	return allow
}

// The API server refuses to relabel pods that run: the update ends all the same, a condition says what is missing, and once the pods can be
// labelled they are.
func TestMetadataThatTheAPIServerRefuses(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	ns.StartController()
	ns.CreateRollout(canary(2, `{maxSurge: 2, maxUnavailable: 0, steps: [{setWeight: 50}, {pause: {}}],
      canaryMetadata: {labels: {role: canary}}, stableMetadata: {labels: {role: stable}}}`))
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to pause at 50 %", playtest.AtStep(1))
	pods := waitForRoles(ns, map[string]int{"nginx:1 stable": 1, "nginx:2 canary": 1})

	allow := refuseRole(t, ns, "stable")
	ns.WaitUntil("the policy is in force", func() error { // the API server reads policies a moment after they are written
		for i := range pods {
			if pods[i].Labels["role"] != "canary" {
				continue
			}
			relabel := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"role":"stable"}}}`))
			err := ns.Client.Patch(t.Context(), pods[i].DeepCopy(), relabel, client.DryRunAll)
			if err == nil || !strings.Contains(err.Error(), refusedRole) {
				return fmt.Errorf("relabel a pod: %v", err) //nolint:errorlint // there may be none
			}
		}
		return nil
	})

	ns.PatchStatus("web", resume)
	ro := ns.WaitForRollout("web", "to be Healthy with pods that cannot be labelled", func(ro *v1alpha1.Rollout) bool {
		return playtest.Healthy(ro) && conditionOf(ro, v1alpha1.ConditionPodMetadataFailure).Status == corev1.ConditionTrue
	})
	refused := conditionOf(ro, v1alpha1.ConditionPodMetadataFailure)
	if refused.Reason != v1alpha1.ReasonPodUpdateRefused || !strings.Contains(refused.Message, refusedRole) {
		t.Errorf("condition %s: %s, want %q", refused.Reason, refused.Message, refusedRole)
	}
	if ro.Status.StableRS != ro.Status.CurrentPodHash {
		t.Errorf("stable version %s, want %s", ro.Status.StableRS, ro.Status.CurrentPodHash)
	}

	allow()
	waitForRoles(ns, map[string]int{"nginx:2 stable": 2})
	ns.WaitForRollout("web", "to drop the condition", func(ro *v1alpha1.Rollout) bool {
		return playtest.Healthy(ro) && conditionOf(ro, v1alpha1.ConditionPodMetadataFailure).Status == ""
	})
}

// conditionOf is a Rollout's condition, empty if it has none of the kind.
func conditionOf(ro *v1alpha1.Rollout, kind v1alpha1.RolloutConditionType) v1alpha1.RolloutCondition {
	for _, c := range ro.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return v1alpha1.RolloutCondition{}
}
