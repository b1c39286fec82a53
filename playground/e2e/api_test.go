package e2e

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

const mergePatch = types.MergePatchType

func serviceAccountsHaveJustTheirRights(t *testing.T, p *playground, namespace string) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "reader"}}
	if _, err := p.client.CoreV1().ServiceAccounts(namespace).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "reader", Namespace: namespace}},
	}
	if _, err := p.client.RbacV1().RoleBindings(namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "reader.kubeconfig")
	mustRun(t, "kubeconfig", "--kubeconfig", p.kubeconfig, "--service-account", namespace+"/reader", "-o", kubeconfig)
	_, reader := connect(t, kubeconfig)
	eventually(t, func(ctx context.Context) error {
		_, err := reader.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		return err
	})
	if _, err := reader.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("list pods of another namespace: %v, want that it is forbidden", err)
	}
	if err := reader.CoreV1().Pods(namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("delete pods: %v, want that it is forbidden", err)
	}
}

// rolesAreAggregated is how install manifests extend the roles admin, edit and view.
func rolesAreAggregated(t *testing.T, p *playground, namespace string) {
	part := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{namespace + ".example.com"}, Resources: []string{"things"}, Verbs: []string{"get"}}},
	}
	if _, err := p.client.RbacV1().ClusterRoles().Create(t.Context(), part, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		view, err := p.client.RbacV1().ClusterRoles().Get(ctx, "view", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, rule := range view.Rules {
			if rule.APIGroups[0] == part.Rules[0].APIGroups[0] {
				return nil
			}
		}
		return errors.New("role view lacks the rule")
	})
}

func kubectlWorks(t *testing.T, p *playground, namespace string) {
	manifest := filepath.Join(t.TempDir(), "pod.yaml")
	write(t, manifest, `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: web, image: "web:1"}]}
`)
	t.Log(mustRun(t, "kubectl", "--kubeconfig", p.kubeconfig, "-n", namespace, "apply", "--server-side", "-f", manifest))
	t.Log(mustRun(t, "kubectl", "--kubeconfig", p.kubeconfig, "-n", namespace, "wait", "--for=condition=Ready", "--timeout=60s", "pod/web"))
	if explained := mustRun(t, "kubectl", "--kubeconfig", p.kubeconfig, "explain", "pod.spec.containers.image"); !strings.Contains(explained, "FIELD: image <string>") {
		t.Errorf("explained: %s", explained)
	}
	_, stderr, status := run(t, "kubectl", "--kubeconfig", p.kubeconfig, "-n", namespace, "get", "pod", "nobody")
	if status != 1 || !strings.Contains(stderr, `pods "nobody" not found`) {
		t.Errorf("exit status %d: %s", status, stderr)
	}
}

func schemasRefuse(t *testing.T, p *playground, namespace string) {
	things := define(t, p, namespace, "gadget")
	_, err := things.Create(t.Context(), thing("Gadget", namespace, 11, nil), metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "choose a size of at most 10") {
		t.Errorf("a gadget that is too large: %v", err)
	}
}

// ownedCustomResourcesToo needs the garbage collector to know kinds that were defined a moment ago.
func ownedCustomResourcesToo(t *testing.T, p *playground, namespace string) {
	widgets := define(t, p, namespace, "widget")
	owner, err := p.client.CoreV1().ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	reference := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}
	if _, err := widgets.Create(t.Context(), thing("Widget", namespace, 1, []metav1.OwnerReference{reference}), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := p.client.CoreV1().ConfigMaps(namespace).Delete(t.Context(), owner.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		left, err := widgets.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		return want("widgets", len(left.Items), 0)
	})
}

// define makes a kind of its own group with a size that CEL limits, and waits until it is served.
func define(t *testing.T, p *playground, namespace, singular string) dynamic.ResourceInterface {
	t.Helper()
	kind, plural := strings.ToUpper(singular[:1])+singular[1:], singular+"s"
	client, err := dynamic.NewForConfig(p.config)
	if err != nil {
		t.Fatal(err)
	}
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": plural + ".example.com"},
		"spec": map[string]any{
			"group": "example.com",
			"scope": "Namespaced",
			"names": map[string]any{"kind": kind, "singular": singular, "plural": plural},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object",
					"properties": map[string]any{"size": map[string]any{
						"type": "integer",
						"x-kubernetes-validations": []any{
							map[string]any{"rule": "self <= 10", "message": "choose a size of at most 10"},
						},
					}},
				}},
			}},
		},
	}}
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if _, err := definitions.Create(t.Context(), definition, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	resource := client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: plural}).Namespace(namespace)
	eventually(t, func(ctx context.Context) error {
		_, err := resource.List(ctx, metav1.ListOptions{})
		return err
	})
	return resource
}

func thing(kind, namespace string, size int64, owners []metav1.OwnerReference) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": kind, "size": size}}
	object.SetName("one")
	object.SetNamespace(namespace)
	object.SetOwnerReferences(owners)
	return object
}
