package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Secrets are read one by one, by the names that analyses give. Nothing that is installed may list or watch them, so nothing in the
// controller does: all tests run with exactly these rights.
func TestSecretsAreReadByNameOnly(t *testing.T) {
	files, err := filepath.Glob("rbac/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	readers := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects(t, text) {
			var role rbacv1.ClusterRole // a Role has the same rules
			if o.GetKind() != "ClusterRole" && o.GetKind() != "Role" {
				continue
			}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role); err != nil {
				t.Fatal(err)
			}
			for _, rule := range role.Rules {
				for _, all := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs} {
					if slices.Contains(all, "*") {
						t.Errorf("%s %s grants everything of something: %v", o.GetKind(), role.Name, rule)
					}
				}
				if !slices.Contains(rule.Resources, "secrets") {
					continue
				}
				readers++
				if role.Name != "argo-rollouts-analysis" || !slices.Equal(rule.Verbs, []string{"get"}) {
					t.Errorf("%s %s may %v secrets", o.GetKind(), role.Name, rule.Verbs)
				}
			}
		}
	}
	if readers != 1 {
		t.Errorf("%d rules are about secrets, want that of analyses", readers)
	}
}
