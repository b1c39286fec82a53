package controller_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
	"github.com/sluice-delivery/sluice/internal/plugin/plugintest"
)

// waitForHeld waits until a plugin asks something whose answer is held back.
func waitForHeld(t *testing.T, s *plugintest.Script, when string) plugintest.Question {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	select {
	case q := <-s.Held:
		return q
	case <-ctx.Done():
		t.Fatalf("%s: the plugin was not asked", when)
	}
	return plugintest.Question{}
}

func isQuestion(method string, weight int32) func(plugintest.Question) bool {
	return func(q plugintest.Question) bool { return q.Method == method && q.Weight == weight }
}

// A plugin that splits traffic, and its controller, are killed in the middle of a call. Nothing is concluded, and the weight is asked for again. It does
// not implement VerifyWeight, and is believed.
func TestTrafficRouterPluginIsKilled(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	script := plugintest.NewScript(t, func(plugintest.Question) plugintest.Answer { return plugintest.Answer{Verified: 2} })
	createServices(t, ns, "web-canary", "web-stable")
	flags := startWithPlugins(t, ns, map[string]string{"trafficRouterPlugins": fmt.Sprintf("[{name: test/scripted, location: SAMPLES/scripted, args: [%q]}]", script.URL)})
	ns.CreateRollout(routed(4, `{plugins: {test/scripted: {}}}`, twoWeights, "scaleDownDelaySeconds: 1"))
	ns.WaitForRollout("web", "to be Healthy", settledOn("1", 4))
	script.Hold(isQuestion("SetWeight", 25))
	ns.SetImage("web", "nginx:2")
	waitForHeld(t, script, "at first")
	ns.WaitForRollout("web", "to say what it waits for", func(ro *v1alpha1.Rollout) bool {
		return ro.Status.Phase == v1alpha1.RolloutPhaseProgressing && ro.Status.Message == `waiting for plugin "test/scripted" to split traffic`
	})
	killPlugin(t, flags[1], "scripted")
	waitForHeld(t, script, "after the plugin was killed")
	if ro := ns.Rollout("web"); !weightIs(0)(ro) || *ro.Status.CurrentStepIndex != 0 {
		t.Errorf("without an answer the status is %+v", ro.Status.Canary)
	}
	ns.StopController(syscall.SIGKILL)
	ns.StartController(flags...)
	waitForHeld(t, script, "by another controller")
	if ro := ns.Rollout("web"); !weightIs(0)(ro) || *ro.Status.CurrentStepIndex != 0 {
		t.Errorf("without an answer the status is %+v", ro.Status.Canary)
	}
	script.LetGo()
	ns.WaitForRollout("web", "to pause at 25 %", both(playtest.AtStep(1), playtest.Paused, weightIs(25)))
	if ro := ns.Rollout("web"); strings.Contains(ro.Status.Message, "test/scripted") {
		t.Errorf("after the answer the message is %q", ro.Status.Message)
	}
}

// A plugin that measures, and its controller, are killed in the middle of a call. The first is an error of the measurement, and it is asked again.
func TestMetricPluginIsKilled(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	script := plugintest.NewScript(t, func(plugintest.Question) plugintest.Answer { return plugintest.Answer{Phase: "Successful", Value: "7"} })
	flags := startWithPlugins(t, ns, map[string]string{"metricProviderPlugins": fmt.Sprintf("[{name: test/scripted, location: SAMPLES/scripted, args: [%q]}]", script.URL)})
	script.Hold(isQuestion("Run", 0))
	createRun(t, ns, "run", `{metrics: [{name: a, provider: {plugin: {test/scripted: {}}}}]}`)
	waitForHeld(t, script, "at first")
	killPlugin(t, flags[1], "scripted")
	ns.WaitForAnalysisRun("run", "to record that there was no answer", func(run *v1alpha1.AnalysisRun) bool {
		results := run.Status.MetricResults
		return len(results) == 1 && results[0].Error == 1 && strings.Contains(results[0].Measurements[0].Message, "Run rpc call error")
	})
	waitForHeld(t, script, "after the plugin was killed")
	ns.StopController(syscall.SIGKILL)
	ns.StartController(flags...)
	waitForHeld(t, script, "by another controller")
	script.LetGo()
	run := ns.WaitForAnalysisRun("run", "to end", hasEnded)
	if result := run.Status.MetricResults[0]; run.Status.Phase != v1alpha1.AnalysisPhaseSuccessful || result.Successful != 1 || result.Error != 1 {
		t.Errorf("the run ended as %s, with %+v", run.Status.Phase, result)
	}
}

// Plugins that never answer hold up their own Rollouts and nobody else: with a single worker, ten Rollouts are updated beside ten whose plugins
// have been asked and say nothing.
func TestSlowPluginsHoldUpNobodyElse(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	script := plugintest.NewScript(t, func(plugintest.Question) plugintest.Answer {
		return plugintest.Answer{Verified: 1, Phase: "Successful"}
	})
	entry := fmt.Sprintf("[{name: test/scripted, location: SAMPLES/scripted, args: [%q], timeout: 10m}]", script.URL)
	startWithPlugins(t, ns, map[string]string{"trafficRouterPlugins": entry, "stepPlugins": entry}, "--rollout-threads=1")
	const each = 10
	slow := []string{
		canary(1, `{steps: [{setWeight: 50}, {plugin: {name: test/scripted}}]}`),
		routed(1, `{plugins: {test/scripted: {}}}`, `[{setWeight: 50}, {pause: {}}]`, ""),
	}
	own := func(manifest, as string) string {
		return strings.NewReplacer("metadata: {name: web}", "metadata: {name: "+as+"}", "app: web", "app: "+as, "web-", as+"-").Replace(manifest)
	}
	for i := range each {
		as := fmt.Sprintf("slow-%d", i)
		for _, service := range []string{"-canary", "-stable"} {
			createObject(t, ns, &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Name: as + service, Namespace: ns.Name},
				Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": as}, Ports: []corev1.ServicePort{{Port: 80}}},
			})
		}
		ns.CreateRollout(own(slow[i%2], as))
		ns.CreateRollout(own(canary(1, `{steps: [{setWeight: 50}, {pause: {duration: 1s}}]}`), fmt.Sprintf("plain-%d", i)))
	}
	stable := map[string]string{} // a plugin that does not answer holds the record of what is current, too
	for i := range each {
		ro := ns.WaitForRollout(fmt.Sprintf("slow-%d", i), "to be Healthy", playtest.Healthy)
		stable[ro.Name] = ro.Status.StableRS
		ns.WaitForRollout(fmt.Sprintf("plain-%d", i), "to be Healthy", playtest.Healthy)
	}
	script.Hold(func(q plugintest.Question) bool { return q.Method == "Run" || q.Method == "SetWeight" && q.Weight > 0 })
	for i := range each {
		ns.Patch(fmt.Sprintf("slow-%d", i), imagePatch("nginx:2"))
	}
	for range each {
		waitForHeld(t, script, "a slow one")
	}
	for i := range each {
		ns.Patch(fmt.Sprintf("plain-%d", i), imagePatch("nginx:2"))
	}
	for i := range each {
		ns.WaitForRollout(fmt.Sprintf("plain-%d", i), "to be updated", func(ro *v1alpha1.Rollout) bool {
			return playtest.Healthy(ro) && ro.Annotations[v1alpha1.RevisionAnnotation] == "2" && ro.Status.StableRS == ro.Status.CurrentPodHash
		})
	}
	for i := range each {
		if ro := ns.Rollout(fmt.Sprintf("slow-%d", i)); ro.Status.StableRS != stable[ro.Name] {
			t.Errorf("%s is done although its plugin has not answered", ro.Name)
		}
	}
	script.LetGo()
}

func imagePatch(image string) string {
	return fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"web","image":%q}]}}}}`, image)
}

// A step that runs a Job: one Job, although the controller is killed while it runs; and the update is aborted when another one fails.
func TestStepPluginRunsAJob(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	ns.Env = append(ns.Env, "KUBECONFIG="+ns.Kubeconfig)
	flags := startWithPlugins(t, ns, map[string]string{"stepPlugins": "[{name: samples/job, location: SAMPLES/job}]"})
	steps := func(command string) string {
		return fmt.Sprintf(`{maxUnavailable: 0, steps: [{setWeight: 50}, {plugin: {name: samples/job, config: {backoffLimit: 0, template: {spec: {containers: [{name: migrate, image: "migrate:1", command: [sh, -c, %q]}]}}}}}, {pause: {}}]}`, command)
	}
	ns.CreateRollout(canary(2, steps("sleep 15")))
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	ns.SetImage("web", "nginx:2")
	running := ns.WaitForRollout("web", "to have its Job run", func(ro *v1alpha1.Rollout) bool {
		e := stepRecord(ro, v1alpha1.StepPluginRun)
		return e.Executions == 1 && e.Phase == v1alpha1.StepPluginRunning
	})
	ns.StopController(syscall.SIGKILL)
	ns.StartController(flags...)
	ns.WaitForRollout("web", "to pause when the Job is done", both(playtest.AtStep(2), playtest.Paused))
	var jobs batchv1.JobList
	if err := ns.Client.List(t.Context(), &jobs, client.InNamespace(ns.Name)); err != nil {
		t.Fatal(err)
	}
	if state := string(stepRecord(running, v1alpha1.StepPluginRun).Status); len(jobs.Items) != 1 || state != fmt.Sprintf(`{"job":%q}`, jobs.Items[0].Name) {
		t.Errorf("%d Jobs, want one, and the state is %s", len(jobs.Items), state)
	}
	ns.PatchStatus("web", `{"status":{"abort":true}}`)
	ns.WaitForRollout("web", "to have the step undone", both(playtest.Degraded, stepIs(v1alpha1.StepPluginAbort, v1alpha1.StepPluginSuccessful)))
	ns.WaitForJobToGo(jobs.Items[0].Name)
	ns.Patch("web", fmt.Sprintf(`{"spec":{"strategy":{"canary":{"steps":[{"plugin":{"name":"samples/job","config":{"backoffLimit":0,"template":{"spec":{"containers":[{"name":"migrate","image":"migrate:1","command":["sh","-c","exit 3"]}]}}}}}]}},"template":{"spec":{"containers":[{"name":"web","image":"nginx:%d"}]}}}}`, 3))
	back := ns.WaitForRollout("web", "to be aborted by the Job that fails", both(playtest.Degraded, stepIs(v1alpha1.StepPluginRun, v1alpha1.StepPluginFailed)))
	if !strings.Contains(back.Status.Message, "Step Plugin 1 (samples/job) failed: Job web-") {
		t.Errorf("the message is %q", back.Status.Message)
	}
}

// The probes say which plugin is ill, and why, to those who ask; the controller is alive and ready all the same. The metrics count it. When the entry
// is corrected, all is well.
func TestProbesSayWhichPluginIsIll(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	probes, metrics := ns.FreePort(), ns.FreePort()
	startWithPlugins(t, ns, map[string]string{"metricProviderPlugins": `
- {name: samples/connect, location: SAMPLES/connect}
- {name: samples/broken, location: SAMPLES/nowhere}
- {name: samples/wrong, location: "ftp://x"}
`}, fmt.Sprintf("--healthz-port=%d", probes), fmt.Sprintf("--metrics-port=%d", metrics))
	for _, name := range []string{"connect", "broken"} {
		createRun(t, ns, name, fmt.Sprintf(`{metrics: [{name: a, consecutiveErrorLimit: 0, provider: {plugin: {samples/%s: {address: "127.0.0.1:1", within: 5s}}}}]}`, name))
		ns.WaitForAnalysisRun(name, "to end", hasEnded)
	}
	for _, probe := range []string{"healthz", "readyz"} {
		if code, text := fetched(t, fmt.Sprintf("http://127.0.0.1:%d/%s", probes, probe)); code != http.StatusOK {
			t.Errorf("/%s: %d %s", probe, code, text)
		}
		code, text := fetched(t, fmt.Sprintf("http://127.0.0.1:%d/%s/plugins", probes, probe))
		for _, want := range []string{`metric plugin "samples/broken"`, "no such file", "metricProviderPlugins[2].location", "http(s) or file scheme"} {
			if code != http.StatusInternalServerError || !strings.Contains(text, want) || strings.Contains(text, "connect") {
				t.Errorf("/%s/plugins: %d %s, want it to say %q and nothing of the plugin that runs", probe, code, text, want)
			}
		}
	}
	_, text := fetched(t, fmt.Sprintf("http://127.0.0.1:%d/metrics", metrics))
	for _, want := range []string{
		`sluice_plugin_running{kind="metricprovider",plugin="samples/connect"} 1`, `sluice_plugin_running{kind="metricprovider",plugin="samples/broken"} 0`,
		`sluice_plugin_starts_total{kind="metricprovider",plugin="samples/connect"} 1`, `sluice_plugin_failures_total{kind="metricprovider",plugin="samples/broken"} 1`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics have no %s:\n%s", want, text)
		}
	}
	var config corev1.ConfigMap
	if err := ns.Client.Get(t.Context(), client.ObjectKey{Namespace: ns.Name, Name: v1alpha1.ConfigMapName}, &config); err != nil {
		t.Fatal(err)
	}
	config.Data["metricProviderPlugins"] = strings.Join(strings.SplitAfter(config.Data["metricProviderPlugins"], "\n")[:2], "")
	if err := ns.Client.Update(t.Context(), &config); err != nil {
		t.Fatal(err)
	}
	ns.WaitUntil("the probe is content", func() error {
		createRun(t, ns, fmt.Sprintf("again-%d", time.Now().UnixNano()), `{metrics: [{name: a, provider: {plugin: {samples/connect: {address: "127.0.0.1:1", within: 5s}}}}]}`)
		if code, text := fetched(t, fmt.Sprintf("http://127.0.0.1:%d/readyz/plugins", probes)); code != http.StatusOK {
			return fmt.Errorf("%d %s", code, text)
		}
		return nil
	})
}

func fetched(t *testing.T, url string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// A binary is fetched by the proxy that the controller's environment names.
func TestPluginIsFetchedByAProxy(t *testing.T) {
	t.Parallel()
	dir, err := plugintest.Samples()
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Host != "plugins.example.com" {
			http.Error(w, "for whom?", http.StatusBadGateway)
			return
		}
		http.ServeFile(w, r, filepath.Join(dir, filepath.Base(r.URL.Path)))
	}))
	t.Cleanup(proxy.Close)
	ns := playtest.New(t)
	ns.Env = append(ns.Env, "HTTP_PROXY="+proxy.URL, "NO_PROXY=127.0.0.1")
	startWithPlugins(t, ns, map[string]string{"metricProviderPlugins": `[{name: samples/connect, location: "http://plugins.example.com/connect"}]`})
	createRun(t, ns, "web", `{metrics: [{name: a, provider: {plugin: {samples/connect: {address: "127.0.0.1:1", within: 5s}}}}]}`)
	if run := ns.WaitForAnalysisRun("web", "to end", hasEnded); !strings.Contains(run.Status.MetricResults[0].Measurements[0].Message, "connection refused") {
		t.Errorf("the plugin has measured %+v", run.Status.MetricResults[0])
	}
}

// The binary of the Gateway API plugin splits traffic where the ConfigMap prefers it, from the next update on; it does not otherwise, and an update
// that the built-in router has begun is finished by it.
func TestGatewayAPIBinaryIsPreferred(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	weights := make(chan int32, 100)
	script := plugintest.NewScript(t, func(q plugintest.Question) plugintest.Answer {
		if q.Method == "SetWeight" {
			weights <- q.Weight
		}
		return plugintest.Answer{Verified: 1}
	})
	manifest := routed(4, `{plugins: {argoproj-labs/gatewayAPI: {httpRoute: web}}}`, twoWeights, "scaleDownDelaySeconds: 1")
	createRoute(t, ns, manifest)
	const list = "[{name: argoproj-labs/gatewayAPI, location: SAMPLES/scripted, args: [%q]%s}]"
	flags := startWithPlugins(t, ns, map[string]string{"trafficRouterPlugins": fmt.Sprintf(list, script.URL, "")})
	ns.CreateRollout(manifest)
	ns.WaitForRollout("web", "to be Healthy", settledOn("1", 4))
	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to pause at 25 %", both(playtest.AtStep(1), playtest.Paused, weightIs(25)))
	if len(weights) > 0 {
		t.Fatalf("the binary was asked for %d although nobody prefers it", <-weights)
	}
	var config corev1.ConfigMap
	if err := ns.Client.Get(t.Context(), client.ObjectKey{Namespace: ns.Name, Name: v1alpha1.ConfigMapName}, &config); err != nil {
		t.Fatal(err)
	}
	config.Data["trafficRouterPlugins"] = strings.Replace(config.Data["trafficRouterPlugins"], "}]", ", preferBinary: true}]", 1)
	if err := ns.Client.Update(t.Context(), &config); err != nil {
		t.Fatal(err)
	}
	ns.StopController(os.Interrupt) // one that reads it before anything else
	ns.StartController(flags...)
	ns.PatchStatus("web", resume)
	ns.WaitForRollout("web", "to pause at 75 %", both(playtest.AtStep(3), playtest.Paused, weightIs(75)))
	if len(weights) > 0 {
		t.Fatalf("the binary was asked for %d in an update that the built-in router has begun", <-weights)
	}
	ns.PatchStatus("web", resume)
	ns.WaitForRollout("web", "to be updated", settledOn("2", 4))
	ns.SetImage("web", "nginx:3")
	ns.WaitForRollout("web", "to pause at 25 % again", both(playtest.AtStep(1), playtest.Paused, weightIs(25)))
	for asked := int32(-1); asked != 25; {
		select {
		case asked = <-weights:
		default:
			t.Fatal("the binary was not asked for 25")
		}
	}
}
