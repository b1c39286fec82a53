package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/internal/playtest"
)

// Every way to install Sluice brings the policy that keeps statuses the controller's. One that is for one namespace holds there only.
func TestThePolicyIsInstalled(t *testing.T) {
	ns := playtest.New(t)
	whole := admission(t, kustomize(t, ns, "."))
	if whole.selector != nil {
		t.Errorf("kustomize: the policy holds in %v only", whole.selector)
	}
	for name, c := range map[string]struct {
		objects  []*unstructured.Unstructured
		selector map[string]any
	}{
		"chart":                    {helm(t, ns), nil},
		"chart, one namespace":     {helm(t, ns, "--set", "namespaced=true"), map[string]any{"kubernetes.io/metadata.name": ns.Name}},
		"kustomize, one namespace": {kustomize(t, ns, "../deploy/namespaced"), map[string]any{"kubernetes.io/metadata.name": "argo-rollouts"}},
	} {
		got := admission(t, c.objects)
		if got.name == whole.name || got.bound != got.name {
			t.Errorf("%s: policy %s, of which %s is bound: want another one than %s", name, got.name, got.bound, whole.name)
		}
		if diff := cmp.Diff(c.selector, got.selector); diff != "" {
			t.Errorf("%s: where it holds (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(whole.spec, got.spec); diff != "" {
			t.Errorf("%s: it differs from config/policy:\n%s", name, diff)
		}
	}
	for _, o := range helm(t, ns, "--set", "statusPolicy=false") {
		if strings.HasPrefix(o.GetKind(), "ValidatingAdmissionPolicy") {
			t.Errorf("switched off, the chart has %s %s", o.GetKind(), o.GetName())
		}
	}
}

// installed is an admission policy with its binding.
type installed struct {
	name, bound    string
	spec, selector map[string]any
}

func admission(t *testing.T, objects []*unstructured.Unstructured) (found installed) {
	t.Helper()
	named := func(kind string) *unstructured.Unstructured {
		i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == kind })
		if i < 0 {
			t.Fatalf("no %s", kind)
		}
		return objects[i]
	}
	policy, binding := named("ValidatingAdmissionPolicy"), named("ValidatingAdmissionPolicyBinding")
	found.name = policy.GetName()
	found.spec, _, _ = unstructured.NestedMap(policy.Object, "spec")
	found.bound, _, _ = unstructured.NestedString(binding.Object, "spec", "policyName")
	found.selector, _, _ = unstructured.NestedMap(binding.Object, "spec", "matchResources", "namespaceSelector", "matchLabels")
	return found
}
