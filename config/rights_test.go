package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Secrets are read one by one, by the names that analyses give. Nothing that is installed by default may list or watch them, so nothing in the
// controller does: all tests run with exactly these rights.
func TestSecretsAreReadByNameOnly(t *testing.T) {
	readers := 0
	for _, role := range roles(t) {
		for _, rule := range role.Rules {
			for _, all := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs} {
				if slices.Contains(all, "*") && role.Name != "argo-rollouts-kubernetes-metrics" { // users name metrics
					t.Errorf("%s grants everything of something: %v", role.Name, rule)
				}
			}
			if !slices.Contains(rule.Resources, "secrets") {
				continue
			}
			if role.Name == "argo-rollouts-istio-primary" && role.Namespace == "argo-rollouts" && slices.Equal(rule.Verbs, []string{"list"}) {
				continue // by their label, in the controller's own namespace, where an administrator has chosen that
			}
			readers++
			if role.Name != "argo-rollouts-analysis" || !slices.Equal(rule.Verbs, []string{"get"}) {
				t.Errorf("%s may %v secrets", role.Name, rule.Verbs)
			}
		}
	}
	if readers != 1 {
		t.Errorf("%d rules are about secrets, want that of analyses", readers)
	}
}

// What the controller changes it patches, guarded by the version that it was decided on; so it may not update anything, but for what cannot
// be patched. It lists pods when it has a question about them, and never follows them.
func TestNoMoreIsGrantedThanIsUsed(t *testing.T) {
	updated := []string{"leases", "deployments/scale", "rollouts/finalizers", "experiments/finalizers", "analysisruns/finalizers"}
	for _, role := range roles(t) {
		if strings.Contains(role.Name, "aggregate") {
			continue // what users may do
		}
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				if slices.Contains(rule.Verbs, "update") && !slices.Contains(updated, resource) {
					t.Errorf("%s may update %s", role.Name, resource)
				}
				if resource == "pods" && (slices.Contains(rule.Verbs, "get") || slices.Contains(rule.Verbs, "watch")) {
					t.Errorf("%s may %v pods", role.Name, rule.Verbs)
				}
			}
		}
	}
}

// roles are all that is in rbac, ClusterRoles and Roles, which have the same rules.
func roles(t *testing.T) (all []rbacv1.ClusterRole) {
	t.Helper()
	files, err := filepath.Glob("rbac/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	chosen, err := filepath.Glob("routers/*/rbac.yaml")
	if err != nil || len(chosen) == 0 {
		t.Fatalf("%d files of routers: %v", len(chosen), err)
	}
	files = append(append(files, chosen...), "metrics-apis/rbac.yaml")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects(t, text) {
			if o.GetKind() != "ClusterRole" && o.GetKind() != "Role" {
				continue
			}
			var role rbacv1.ClusterRole
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role); err != nil {
				t.Fatal(err)
			}
			all = append(all, role)
		}
	}
	return all
}

// The notifier reads one Secret and one ConfigMap, by their names, in its namespace or, with self-service, in each. It writes annotations, its Lease
// and events about that, and nothing else.
func TestTheNotifierMayDoLittle(t *testing.T) {
	named := map[string]string{"secrets": "argo-rollouts-notification-secret", "configmaps": "argo-rollouts-notification-configmap"}
	seen := map[string]int{}
	for _, file := range []string{"notifications/rbac.yaml", "notifications/self-service.yaml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects(t, text) {
			var role rbacv1.ClusterRole
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role); err != nil {
				t.Fatal(err)
			}
			for _, rule := range role.Rules {
				for _, resource := range rule.Resources {
					if name, is := named[resource]; is {
						seen[resource]++
						if !slices.Equal(rule.ResourceNames, []string{name}) || slices.ContainsFunc(rule.Verbs, writes) {
							t.Errorf("%s: %s may %v %s %v", file, o.GetName(), rule.Verbs, resource, rule.ResourceNames)
						}
					}
					if slices.ContainsFunc(rule.Verbs, writes) && !slices.Contains([]string{"rollouts", "events", "leases"}, resource) {
						t.Errorf("%s: %s may %v %s", file, o.GetName(), rule.Verbs, resource)
					}
				}
			}
		}
	}
	if seen["secrets"] != 2 || seen["configmaps"] != 2 {
		t.Errorf("rules about Secrets and ConfigMaps: %v", seen)
	}
}

func writes(verb string) bool { return verb != "get" && verb != "list" && verb != "watch" }
