package controller_test

import (
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
	"github.com/sluice-delivery/sluice/internal/plugin/plugintest"
)

// startWithPlugins starts a controller whose ConfigMap lists plugins, in which SAMPLES stands for the folder with the samples.
func startWithPlugins(t *testing.T, ns *playtest.Namespace, lists map[string]string, more ...string) (flags []string) {
	t.Helper()
	dir, err := plugintest.Samples()
	if err != nil {
		t.Fatal(err)
	}
	data := map[string]string{}
	for key, list := range lists {
		data[key] = strings.ReplaceAll(list, "SAMPLES", "file://"+dir)
	}
	createObject(t, ns, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: v1alpha1.ConfigMapName}, Data: data})
	ns.Env = append(ns.Env, "POD_NAMESPACE="+ns.Name)
	flags = append([]string{"--plugin-dir", filepath.Join(t.TempDir(), "plugins")}, more...)
	ns.StartController(flags...)
	return flags
}

// A metric plugin measures: a real process, by the real handshake. One that is not there, or is broken, costs its own AnalysisRun.
func TestMetricPlugin(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	startWithPlugins(t, ns, map[string]string{"metricProviderPlugins": `
- {name: samples/connect, location: SAMPLES/connect}
- {name: samples/broken, location: SAMPLES/nowhere}
`})
	const metric = `{metrics: [{name: a, %s provider: {plugin: {%s: {address: "%s", within: 5s}}}}]}`
	for name, c := range map[string]struct {
		spec, message string
		phase         v1alpha1.AnalysisPhase
	}{
		"good":   {fmt.Sprintf(metric, "", "samples/connect", listener.Addr()), "", v1alpha1.AnalysisPhaseSuccessful},
		"closed": {fmt.Sprintf(metric, "", "samples/connect", "127.0.0.1:1"), "connection refused", v1alpha1.AnalysisPhaseFailed},
		"broken": {
			fmt.Sprintf(metric, "consecutiveErrorLimit: 0,", "samples/broken", "x"), "failed to run via plugin: metric plugin \"samples/broken\"",
			v1alpha1.AnalysisPhaseError,
		},
		"unknown": {
			fmt.Sprintf(metric, "consecutiveErrorLimit: 0,", "samples/other", "x"), "plugin samples/other not configured in configmap",
			v1alpha1.AnalysisPhaseError,
		},
	} {
		createRun(t, ns, name, c.spec)
		run := ns.WaitForAnalysisRun(name, "to end", hasEnded)
		if run.Status.Phase != c.phase || len(run.Status.MetricResults) != 1 {
			t.Errorf("%s: %s %s", name, run.Status.Phase, run.Status.Message)
			continue
		}
		result := run.Status.MetricResults[0]
		last := result.Measurements[len(result.Measurements)-1]
		if !strings.Contains(last.Message, c.message) {
			t.Errorf("%s: %q, want %q", name, last.Message, c.message)
		}
		if name == "good" && (last.Value == "" || result.Metadata["address"] != listener.Addr().String()) {
			t.Errorf("%s: value %q, metadata %v", name, last.Value, result.Metadata)
		}
	}
}

// A traffic-router plugin splits traffic: step by step, over a controller that is killed, through an abort. A Rollout that names a plugin which
// nobody listed is told so.
func TestTrafficRouterPlugin(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	ns.Env = append(ns.Env, "KUBECONFIG="+ns.Kubeconfig)
	createServices(t, ns, "web-canary", "web-stable")
	createObject(t, ns, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "web-weights"}})
	flags := startWithPlugins(t, ns, map[string]string{"trafficRouterPlugins": `[{name: samples/configmap, location: SAMPLES/configmap}]`})
	manifest := routed(4, `{plugins: {samples/configmap: {name: web-weights}}}`, twoWeights, "scaleDownDelaySeconds: 1, abortScaleDownDelaySeconds: 1")
	ns.CreateRollout(strings.ReplaceAll(manifest, "samples/configmap", "samples/unknown"))
	ns.WaitForRollout("web", "to be told that there is no such plugin", func(ro *v1alpha1.Rollout) bool {
		return slices.ContainsFunc(ro.Status.Conditions, func(c v1alpha1.RolloutCondition) bool {
			return c.Type == v1alpha1.ConditionInvalidSpec && strings.Contains(c.Message, "plugin samples/unknown not configured in configmap")
		})
	})
	ns.Patch("web", `{"spec":{"strategy":{"canary":{"trafficRouting":{"plugins":{"samples/unknown":null,"samples/configmap":{"name":"web-weights"}}}}}}}`)
	ns.WaitForRollout("web", "to be Healthy", settledOn("1", 4))
	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to pause at 25 %", both(playtest.AtStep(1), playtest.Paused, weightIs(25)))
	wantWeights(t, ns, "25")
	ns.StopController(syscall.SIGKILL)
	ns.StartController(flags...)
	ns.PatchStatus("web", resume)
	ns.WaitForRollout("web", "to pause at 75 %", both(playtest.AtStep(3), playtest.Paused, weightIs(75)))
	wantWeights(t, ns, "75")
	ns.PatchStatus("web", `{"status":{"abort":true}}`)
	ns.WaitForRollout("web", "to be back at the stable version", both(playtest.Degraded, weightIs(0), pods(4)))
	wantWeights(t, ns, "0")
}

func wantWeights(t *testing.T, ns *playtest.Namespace, canary string) {
	t.Helper()
	var weights corev1.ConfigMap
	if err := ns.Client.Get(t.Context(), client.ObjectKey{Namespace: ns.Name, Name: "web-weights"}, &weights); err != nil {
		t.Fatal(err)
	}
	if weights.Data["web-canary"] != canary {
		t.Errorf("the plugin has set %v, want %s for the canary", weights.Data, canary)
	}
}
