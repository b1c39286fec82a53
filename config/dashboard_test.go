package config_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

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

// The examples of what can stand in front of the dashboard are accepted as they are, and lead to what config/dashboard installs; the page shows what
// is in them.
func TestTheExamplesOfTheDashboardFit(t *testing.T) {
	ns := playtest.New(t)
	apply(t, ns, kustomize(t, ns, "dashboard"))
	page := contents(t, "../docs/dashboard.md")
	for _, example := range []string{"gateway", "oauth2-proxy"} {
		file := "../examples/dashboard/" + example + ".yaml"
		kubectl(t, ns, "apply", "--validate=strict", "-f", file)
		if !strings.Contains(page, "](../examples/dashboard/"+example+".yaml)") {
			t.Errorf("docs/dashboard.md does not lead to examples/dashboard/%s.yaml", example)
		}
		for _, o := range objects(t, []byte(contents(t, file))) {
			if o.GetKind() == "HTTPRoute" {
				leadsToAService(t, ns, o)
			}
		}
	}
	_, route, _ := strings.Cut(contents(t, "../examples/dashboard/gateway.yaml"), "\n")
	if !strings.Contains(page, "```yaml\n"+route+"```\n") {
		t.Error("docs/dashboard.md shows another HTTPRoute than examples/dashboard/gateway.yaml")
	}
	proxy := objects(t, []byte(contents(t, "../examples/dashboard/oauth2-proxy.yaml")))
	args := arguments(t, proxy)
	var dashboard corev1.Service
	if err := ns.Client.Get(t.Context(), types.NamespacedName{Namespace: "argo-rollouts", Name: "argo-rollouts-dashboard"}, &dashboard); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("--upstream=http://%s.%s:%d", dashboard.Name, dashboard.Namespace, dashboard.Spec.Ports[0].Port); !slices.Contains(args, want) {
		t.Errorf("oauth2-proxy is not started with %s but %q", want, args)
	}
}

// leadsToAService: each backend of a route is a Service that was applied, at a port that it has.
func leadsToAService(t *testing.T, ns *playtest.Namespace, route *unstructured.Unstructured) {
	t.Helper()
	rules, _, _ := unstructured.NestedSlice(route.Object, "spec", "rules")
	found := 0
	for _, rule := range rules {
		backends, _, _ := unstructured.NestedSlice(rule.(map[string]any), "backendRefs")
		for _, b := range backends {
			backend := b.(map[string]any)
			var service corev1.Service
			if err := ns.Client.Get(t.Context(), types.NamespacedName{Namespace: route.GetNamespace(), Name: backend["name"].(string)}, &service); err != nil {
				t.Fatal(err)
			}
			if port := fmt.Sprint(backend["port"]); !slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return fmt.Sprint(p.Port) == port }) {
				t.Errorf("%s leads to port %s of Service %s, which has %v", route.GetName(), port, service.Name, service.Spec.Ports)
			}
			found++
		}
	}
	if found == 0 {
		t.Errorf("%s leads nowhere", route.GetName())
	}
}
