package config_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/internal/playtest"
)

// ofNotifier are the notifier's objects.
func ofNotifier(all []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(all, func(o *unstructured.Unstructured) bool {
		return !strings.HasPrefix(o.GetName(), "sluice-notifier") && !strings.HasPrefix(o.GetName(), "argo-rollouts-notification")
	})
}

// The notifier is installed by kustomize and by the chart with the same rights, and its program takes the flags of both.
func TestTheNotifierIsInstalled(t *testing.T) {
	ns := playtest.New(t)
	if found := ofNotifier(helm(t, ns)); len(found) > 0 {
		t.Errorf("the chart installs %v though nobody has chosen it", found)
	}
	chart := func(values string) []*unstructured.Unstructured {
		return ofNotifier(helm(t, ns, "--set", "notifier.enabled=true,"+values))
	}
	both := map[string][]*unstructured.Unstructured{
		"kustomize": kustomize(t, ns, "notifications"), "the chart": chart("notifier.replicas=2"),
		"the chart with everything": chart("instanceID=blue,notifier.config.create=true,notifier.selfService=true,notifier.metrics.service=true," +
			"notifier.allowHosts={hooks.slack.com,*.example.com},notifier.allowCIDRs={10.1.0.0/16},notifier.denyCIDRs={10.0.0.0/8,192.168.0.0/16}," +
			"notifier.extraArgs={--catch-up=30m},notifier.extraEnv[0].name=HTTPS_PROXY,notifier.extraEnv[0].value=http://proxy:3128"),
		"the chart for one namespace": chart("namespaced=true,metrics.perObject=true"),
	}
	for name, objects := range both {
		apply(t, ns, objects)
		args := arguments(t, objects)
		if out, err := exec.CommandContext(t.Context(), playtest.Program("sluice-notifier"), append(args, "--help")...).CombinedOutput(); err != nil {
			t.Errorf("%s: the notifier does not take %q: %v\n%s", name, args, err, out)
		}
	}
	everything := arguments(t, both["the chart with everything"])
	for _, want := range []string{
		"--instance-id=blue", "--self-service-notification-enabled", "--allow-hosts=hooks.slack.com,*.example.com", "--allow-cidrs=10.1.0.0/16",
		"--deny-cidrs=10.0.0.0/8,192.168.0.0/16", "--catch-up=30m",
	} {
		if !slices.Contains(everything, want) {
			t.Errorf("%s is not among the arguments %q", want, everything)
		}
	}
	environment, _, err := unstructured.NestedSlice(container(t, both["the chart with everything"]), "env")
	if err != nil || len(environment) != 3 {
		t.Errorf("the environment is %v (%v), want POD_NAMESPACE, GOMEMLIMIT and HTTPS_PROXY", environment, err)
	}
	if diff := cmp.Diff(rules(both["kustomize"], ""), rules(both["the chart"], "-"+ns.Name)); diff != "" {
		t.Errorf("rules by kustomize (-) and by the chart (+):\n%s", diff)
	}
	for _, o := range both["the chart for one namespace"] {
		if strings.HasPrefix(o.GetKind(), "ClusterRole") {
			t.Errorf("%s %s is the whole cluster's", o.GetKind(), o.GetName())
		}
	}
}

// The chart writes the ConfigMap only where that is chosen: the catalog, and over it what the values say.
func TestTheChartsNotifications(t *testing.T) {
	ns := playtest.New(t)
	data := func(values string) map[string]string {
		for _, o := range helm(t, ns, "--set", "notifier.enabled=true,"+values) {
			if o.GetName() == "argo-rollouts-notification-configmap" {
				data, _, err := unstructured.NestedStringMap(o.Object, "data")
				if err != nil {
					t.Error(err)
				}
				return data
			}
		}
		return nil
	}
	if found := data("notifier.config.create=false"); found != nil {
		t.Errorf("the chart overwrites the ConfigMap with %v", found)
	}
	const own = `notifier.config.create=true,notifier.config.data.service\.slack=token: $slack-token,notifier.config.data.trigger\.on-rollout-paused=mine`
	with, without := data(own), data(own+",notifier.config.catalog=false")
	if with["service.slack"] != "token: $slack-token" || with["trigger.on-rollout-paused"] != "mine" || with["template.rollout-aborted"] == "" {
		t.Errorf("with the catalog: %v", with)
	}
	if diff := cmp.Diff(map[string]string{"service.slack": "token: $slack-token", "trigger.on-rollout-paused": "mine"}, without); diff != "" {
		t.Error(diff)
	}
}

func TestTheChartRefusesMistakesOfTheNotifier(t *testing.T) {
	for mistake, want := range map[string]string{
		"notifier.allowCIDRs={10.0.0.0}":             "'/notifier/allowCIDRs/0'",
		"notifier.metrics.port=8080":                 "'/notifier/metrics/port'",
		"notifier.config.data.slack=x":               "'slack' does not match pattern",
		"notifier.selfService=true,namespaced=true":  "notifier.selfService is for a notifier of the whole cluster",
		"notifier.extraArgs={allow-hosts=a.example}": "'/notifier/extraArgs/0'",
		"notifier.config.catalogue=true":             "additional properties 'catalogue' not allowed",
	} {
		if out, err := render(t, "web", "--set", "notifier.enabled=true,"+mistake); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error that says %s\n%s", mistake, err, want, out)
		}
	}
}
