package config_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/internal/playtest"
)

// The dashboard is installed by kustomize and by the chart with the same rights, and its program takes the flags of both.
func TestTheDashboardIsInstalled(t *testing.T) {
	ns := playtest.New(t)
	overlay := t.TempDir()
	if err := os.CopyFS(overlay+"/dashboard", os.DirFS("dashboard")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay+"/kustomization.yaml", []byte("resources: [dashboard]\ncomponents: [dashboard/oidc]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ofDashboard := func(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
		return slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool {
			return !strings.HasPrefix(o.GetName(), "argo-rollouts-dashboard")
		})
	}
	if found := ofDashboard(helm(t, ns)); len(found) > 0 {
		t.Errorf("the chart installs %v though nobody has chosen it", found)
	}
	chart := func(flags ...string) []*unstructured.Unstructured {
		return ofDashboard(helm(t, ns, append([]string{"--set", "dashboard.enabled=true,dashboard.url=https://rollouts.example.com/rollouts"}, flags...)...))
	}
	login := []string{"--set", "dashboard.oidc.issuer=https://id.example.com,dashboard.oidc.clientID=sluice-dashboard,dashboard.oidc.groups={rollouts-users}"}
	both := map[string][]*unstructured.Unstructured{
		"kustomize": kustomize(t, ns, "dashboard"), "kustomize with logins": kustomize(t, ns, overlay), "the chart": chart(), "the chart with logins": chart(login...),
		"the chart with actions": chart(append(login, "--set", "dashboard.allowActions=true,dashboard.extraArgs={--cluster-name=blue}")...),
	}
	for name, objects := range both {
		apply(t, ns, objects)
		args := arguments(t, objects)
		if !slices.Contains(args, "--url=https://rollouts.example.com/rollouts") || slices.Contains(args, "--allow-actions") != strings.Contains(name, "actions") {
			t.Errorf("%s: arguments %q", name, args)
		}
		if out, err := exec.CommandContext(t.Context(), playtest.Program("sluice-dashboard"), append(args, "--version")...).CombinedOutput(); err != nil {
			t.Errorf("%s: the dashboard does not take %q: %v\n%s", name, args, err, out)
		}
	}
	for with, without := range map[string]string{"kustomize": "the chart", "kustomize with logins": "the chart with logins"} {
		if diff := cmp.Diff(rules(both[with], ""), rules(both[without], "-"+ns.Name)); diff != "" {
			t.Errorf("rules by %s (-) and by %s (+):\n%s", with, without, diff)
		}
	}
	nobody := chart("--set", "dashboard.oidc.issuer=https://id.example.com,dashboard.oidc.clientID=x")
	for _, o := range nobody {
		if rules, _, _ := unstructured.NestedSlice(o.Object, "rules"); strings.Contains(o.GetName(), "impersonation") && len(rules) > 1 {
			t.Errorf("without groups the dashboard may impersonate some: %v", rules)
		}
	}
	if _, err := render(t, ns.Name, "--set", "dashboard.enabled=true,dashboard.url=https://a.example,dashboard.oidc.issuer=https://id.example.com,dashboard.oidc.clientID=x,dashboard.oidc.groups={system:masters}"); err == nil {
		t.Error("the chart lets the dashboard impersonate system:masters")
	}
}
