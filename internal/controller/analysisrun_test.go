package controller_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric/prometheus/prometheustest"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

// gauge is a server whose answer a test can change, and that counts who asks.
type gauge struct {
	*httptest.Server
	value atomic.Value // a text
	asked atomic.Int32
	mu    sync.Mutex
	heads []http.Header
}

func newGauge(t *testing.T, value string) *gauge {
	g := &gauge{}
	g.value.Store(value)
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.asked.Add(1)
		g.mu.Lock()
		g.heads = append(g.heads, r.Header)
		g.mu.Unlock()
		_, _ = io.WriteString(w, g.value.Load().(string))
	}))
	t.Cleanup(g.Close)
	return g
}

func createRun(t *testing.T, ns *playtest.Namespace, name, spec string) *v1alpha1.AnalysisRun {
	t.Helper()
	run := &v1alpha1.AnalysisRun{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns.Name}}
	if err := yaml.UnmarshalStrict([]byte(spec), &run.Spec); err != nil {
		t.Fatal(err)
	}
	createObject(t, ns, run)
	return run
}

func createTemplateOf(t *testing.T, ns *playtest.Namespace, name, spec string) {
	t.Helper()
	template := &v1alpha1.AnalysisTemplate{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns.Name}}
	if err := yaml.UnmarshalStrict([]byte(spec), &template.Spec); err != nil {
		t.Fatal(err)
	}
	createObject(t, ns, template)
}

func hasEnded(run *v1alpha1.AnalysisRun) bool { return run.Status.CompletedAt != nil }

func TestAnAnalysisRunIsMeasured(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	const secret = "s3cr3t/<with>&all+sorts"
	createObject(t, ns, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "tokens", Namespace: ns.Name}, Data: map[string][]byte{"token": []byte(secret)},
	})
	createObject(t, ns, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "settings", Namespace: ns.Name}, Data: map[string]string{"limit": "0.05"},
	})
	// The server tells everything it is told.
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"rate": 0.01, "token": r.Header.Get("X-Token"), "query": r.URL.RawQuery})
	}))
	t.Cleanup(echo.Close)
	ns.StartController()
	createRun(t, ns, "run", `
args:
  - {name: token, valueFrom: {secretKeyRef: {name: tokens, key: token}}}
  - {name: limit, valueFrom: {configMapKeyRef: {name: settings, key: limit}}}
dryRun: [{metricName: shy}, {metricName: refused}]
metrics:
  - name: rate
    interval: 1s
    count: 3
    successCondition: result < {{args.limit}}
    provider: {web: {url: "`+echo.URL+`", jsonPath: "{$.rate}", headers: [{key: X-Token, value: "{{args.token}}"}]}}
  - name: shy
    successCondition: result.rate > 1
    provider: {web: {url: "`+echo.URL+`/?t={{args.token}}", headers: [{key: X-Token, value: "{{args.token}}"}]}}
  - name: refused
    consecutiveErrorLimit: 0
    provider: {web: {url: "http://127.0.0.1:1/?t={{args.token}}"}}
`)
	run := ns.WaitForAnalysisRun("run", "to end", hasEnded)
	if run.Status.Phase != v1alpha1.AnalysisPhaseSuccessful {
		t.Errorf("it ended %s: %s", run.Status.Phase, run.Status.Message)
	}
	rate := run.Status.MetricResults[0]
	if rate.Count != 3 || rate.Successful != 3 || rate.Error != 0 || len(rate.Measurements) != 3 || rate.Measurements[0].Value != "0.01" {
		t.Errorf("result %+v", rate)
	}
	ns.WaitForRunEvents("run", "MetricSuccessful Metric 'rate' Completed. Result: Successful", "MetricFailed Metric 'shy' Completed. Result: Failed",
		"AnalysisRunSuccessful Analysis Completed. Result: Successful")

	told, err := json.Marshal(run)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(told), "*****") {
		t.Errorf("the server told what it was told, and nothing of it is in the results: %s", told)
	}
	var events corev1.EventList
	if err := ns.Client.List(t.Context(), &events, client.InNamespace(ns.Name)); err != nil {
		t.Fatal(err)
	}
	heard, err := json.Marshal(events.Items)
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(ns.Log())
	if err != nil {
		t.Fatal(err)
	}
	for where, text := range map[string]string{"the AnalysisRun": string(told), "events": string(heard), "the log": string(log)} {
		if strings.Contains(text, "s3cr3t") {
			t.Errorf("the value of a Secret is in %s: %s", where, text)
		}
	}
}

func TestAnAnalysisRunThatCannotBeMeasured(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	ns.StartController()
	for name, c := range map[string]struct{ spec, want string }{
		"secret": {
			`{args: [{name: token, valueFrom: {secretKeyRef: {name: tokens, key: token}}}], metrics: [{name: a, provider: {web: {url: "http://{{args.token}}"}}}]}`,
			`Unable to resolve metric arguments: args.token: Secret "tokens" not found: create it in the namespace of the AnalysisRun, or name another`,
		},
		"provider": {
			`{metrics: [{name: a, consecutiveErrorLimit: 0, provider: {plugin: {example/sensor: {query: q}}}}]}`,
			`Metric "a" assessed Error due to consecutiveErrors (1) > consecutiveErrorLimit (0): "Error Message: failed to run via plugin: unable to find plugin (example/sensor): plugin example/sensor not configured in configmap`,
		},
		"condition": {
			`{metrics: [{name: a, successCondition: "result >", provider: {web: {url: "http://g"}}}]}`,
			"Analysis spec invalid: metric \"a\": successCondition `result >`: unexpected token EOF",
		},
	} {
		createRun(t, ns, name, c.spec)
		run := ns.WaitForAnalysisRun(name, "to end", hasEnded)
		if run.Status.Phase != v1alpha1.AnalysisPhaseError || !strings.HasPrefix(run.Status.Message, c.want) {
			t.Errorf("%s: %s %s\nwant %s", name, run.Status.Phase, run.Status.Message, c.want)
		}
	}
}

// TestMeasurementsOutliveTheController kills the controller again and again while it measures: every measurement counts, and once.
func TestMeasurementsOutliveTheController(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	g := newGauge(t, "1")
	ns.StartController()
	createRun(t, ns, "run", `{metrics: [{name: a, interval: 1s, count: 8, successCondition: result == 1, provider: {web: {url: "`+g.URL+`"}}}]}`)
	for n := int32(1); n <= 6; n++ {
		ns.WaitForAnalysisRun("run", fmt.Sprintf("to have %d measurements", n), func(run *v1alpha1.AnalysisRun) bool {
			return len(run.Status.MetricResults) > 0 && run.Status.MetricResults[0].Count >= n
		})
		ns.StopController(syscall.SIGKILL)
		ns.StartController()
	}
	run := ns.WaitForAnalysisRun("run", "to end", hasEnded)
	r := run.Status.MetricResults[0]
	if run.Status.Phase != v1alpha1.AnalysisPhaseSuccessful || r.Count != 8 || r.Successful != 8 || len(r.Measurements) != 8 {
		t.Errorf("%s with %+v; want 8 measurements", run.Status.Phase, r)
	}
	for i := 1; i < len(r.Measurements); i++ {
		if gap := r.Measurements[i].StartedAt.Sub(r.Measurements[i-1].FinishedAt.Time); gap < time.Second {
			t.Errorf("measurement %d came %s after the one before it, want at least the interval", i+1, gap)
		}
	}
	if asked := g.asked.Load(); asked < 8 || asked > 8+6 {
		t.Errorf("the server was asked %d times; at most the one under way is lost each time", asked)
	}
	version := run.ResourceVersion
	ns.StopController(syscall.SIGTERM)
	ns.StartController("--rollout-threads=1")
	ns.Marker()
	if after := ns.WaitForAnalysisRun("run", "to be there", hasEnded); after.ResourceVersion != version {
		t.Errorf("a run that has ended was written again: resourceVersion %s became %s", version, after.ResourceVersion)
	}
}

func TestASlowServerDelaysNobody(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	stuck := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-stuck }))
	t.Cleanup(func() { close(stuck); slow.Close() })
	g := newGauge(t, "1")
	ns.StartController("--analysis-threads=1")
	for i := range 20 { // many more than there are workers
		createRun(t, ns, fmt.Sprintf("slow-%d", i), `{metrics: [{name: a, provider: {web: {url: "`+slow.URL+`", timeoutSeconds: 60}}}]}`)
	}
	createRun(t, ns, "quick", `{metrics: [{name: a, interval: 1s, count: 3, provider: {web: {url: "`+g.URL+`"}}}]}`)
	quick := ns.WaitForAnalysisRun("quick", "to end", hasEnded)
	if took := quick.Status.CompletedAt.Sub(quick.Status.StartedAt.Time); took > 20*time.Second {
		t.Errorf("3 measurements, one a second, took %s", took)
	}
	// Terminated, the slow ones end at once: nobody waits for their server.
	run := &v1alpha1.AnalysisRun{ObjectMeta: metav1.ObjectMeta{Name: "slow-0", Namespace: ns.Name}}
	if err := ns.Client.Patch(t.Context(), run, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"terminate":true}}`))); err != nil {
		t.Fatal(err)
	}
	ended := ns.WaitForAnalysisRun("slow-0", "to end", hasEnded)
	if ended.Status.Phase != v1alpha1.AnalysisPhaseInconclusive || ended.Status.Message != "Run Terminated" {
		t.Errorf("%s: %s", ended.Status.Phase, ended.Status.Message)
	}
}

func TestAnalysisRunsOfOthersAreLeftAlone(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	g := newGauge(t, "1")
	theirs := &v1alpha1.AnalysisRun{ObjectMeta: metav1.ObjectMeta{
		Name: "theirs", Namespace: ns.Name, Labels: map[string]string{v1alpha1.InstanceIDLabel: "other"},
	}}
	theirs.Spec.Metrics = []v1alpha1.Metric{{Name: "a", Provider: v1alpha1.MetricProvider{Web: &v1alpha1.WebMetric{URL: g.URL}}}}
	createObject(t, ns, theirs)
	ns.StartController()
	createRun(t, ns, "ours", `{metrics: [{name: a, provider: {web: {url: "`+g.URL+`"}}}], ttlStrategy: {secondsAfterCompletion: 1}}`)
	ns.WaitForAnalysisRun("ours", "to end", hasEnded)
	ns.WaitForAnalysisRunToGo("ours")
	if run := ns.WaitForAnalysisRun("theirs", "to be there", func(*v1alpha1.AnalysisRun) bool { return true }); run.Status.Phase != "" {
		t.Errorf("a run of another instance was measured: %s", run.Status.Phase)
	}
}

// judgedCanary is a canary with a background analysis and one as a step, both of the template "errors".
const judgedCanary = `{maxSurge: 1, maxUnavailable: 0, analysis: {templates: [{templateName: errors}], startingStep: 1, args: [{name: hash, valueFrom: {podTemplateHashValue: Latest}}]},
      steps: [{setWeight: 25}, {analysis: {templates: [{templateName: once}]}}, {setWeight: 50}, {pause: {}}]}`

func TestACanaryJudgedByItsServers(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	g := newGauge(t, "")
	web := fmt.Sprintf(`{web: {url: %q, jsonPath: "{$.errors}"}}`, g.URL)
	judgeCanary(t, ns, g, `{"errors": %g}`, "result < 0.05", web, "value 0.4 of GET "+g.URL)
	g.value.Store(`{"errors": 0}`)
	ns.PatchStatus("web", `{"status":{"abort":false}}`)
	ns.WaitForRollout("web", "to pass again", playtest.AtStep(3))
	ns.PatchStatus("web", resume)
	ns.WaitForRollout("web", "to be Healthy with the new version", func(ro *v1alpha1.Rollout) bool {
		return playtest.Healthy(ro) && ro.Status.StableRS == ro.Status.CurrentPodHash && ro.Annotations[v1alpha1.RevisionAnnotation] == "2"
	})
	for _, run := range ns.AnalysisRuns() {
		ns.WaitForAnalysisRun(run.Name, "to end with the update", hasEnded)
	}
}

func TestACanaryJudgedByPrometheus(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	g := newGauge(t, "error_rate 0.01\n")
	address := prometheustest.Start(t, strings.TrimPrefix(g.URL, "http://"))
	prometheustest.WaitFor(t, address, "error_rate")
	provider := fmt.Sprintf(`{prometheus: {address: %q, query: "max(error_rate)"}}`, address)
	judgeCanary(t, ns, g, "error_rate %g\n", "result[0] < 0.05", provider, "value [0.4] of query `max(error_rate)`")
	for _, run := range ns.AnalysisRuns() {
		if got := run.Status.MetricResults[0].Metadata["ResolvedPrometheusQuery"]; got != "max(error_rate)" {
			t.Errorf("%s reports the query %q", run.Name, got)
		}
	}
}

// judgeCanary has a canary pass its analysis, in the background and as a step, and then be aborted by what the gauge shows.
func judgeCanary(t *testing.T, ns *playtest.Namespace, g *gauge, shows, condition, provider, value string) {
	t.Helper()
	g.value.Store(fmt.Sprintf(shows, 0.01))
	metric := func(more string) string {
		return fmt.Sprintf(`{name: errors, successCondition: %q, %s, provider: %s}`, condition, more, provider)
	}
	createTemplateOf(t, ns, "errors", `{args: [{name: hash}], metrics: [`+metric("interval: 1s")+`]}`)
	createTemplateOf(t, ns, "once", `{metrics: [`+metric("interval: 1s, count: 2")+`]}`)
	ns.StartController()
	ns.CreateRollout(canary(4, judgedCanary))
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to pass the analysis and pause", playtest.AtStep(3))
	g.value.Store(fmt.Sprintf(shows, 0.4))
	aborted := ns.WaitForRollout("web", "to be aborted", playtest.Degraded)
	for _, part := range []string{`Metric "errors" assessed Failed due to failed (1) > failureLimit (0)`, value, "successCondition `" + condition + "`"} {
		if !strings.Contains(aborted.Status.Message, part) {
			t.Errorf("message %q, want %q in it", aborted.Status.Message, part)
		}
	}
}

// TestMeasurementsThatAreJobs runs real Jobs, whose pods end as their commands say.
func TestMeasurementsThatAreJobs(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	ns.StartController()
	spec := func(image, command, more string) string {
		return `{metrics: [{name: load, provider: {job: {spec: {` + more + ` template: {spec: {restartPolicy: Never, containers: [{name: load, image: "` + image +
			`", command: [sh, -c, "` + command + `"]}]}}}}}}]}`
	}
	for name, c := range map[string]struct {
		spec  string
		phase v1alpha1.AnalysisPhase
		want  string
	}{
		"good":    {spec("busybox:1", "sleep 1", ""), v1alpha1.AnalysisPhaseSuccessful, ""},
		"bad":     {spec("busybox:1", "exit 3", ""), v1alpha1.AnalysisPhaseFailed, "failed: BackoffLimitExceeded: Job has reached the specified backoff limit; container load ended with exit code 3"},
		"late":    {spec("busybox:1", "sleep 600", "activeDeadlineSeconds: 2,"), v1alpha1.AnalysisPhaseFailed, "failed: DeadlineExceeded"},
		"unknown": {spec("busybox:bad", "sleep 1", ""), v1alpha1.AnalysisPhaseInconclusive, "never ran: container load: ImagePullBackOff"},
	} {
		t.Run(name, func(t *testing.T) {
			run := createRun(t, ns, name, c.spec)
			ended := ns.WaitForAnalysisRun(name, "to end", hasEnded)
			if ended.Status.Phase != c.phase || !strings.Contains(ended.Status.Message, c.want) {
				t.Errorf("%s: %s; want %s: %s", ended.Status.Phase, ended.Status.Message, c.phase, c.want)
			}
			job := string(run.UID) + ".load.1"
			if got := ended.Status.MetricResults[0].Measurements[0].Metadata["job-name"]; got != job {
				t.Errorf("the Job is %s, want %s", got, job)
			}
		})
	}

	t.Run("terminated", func(t *testing.T) {
		run := createRun(t, ns, "terminated", spec("busybox:1", "sleep 600", ""))
		key := client.ObjectKey{Namespace: ns.Name, Name: string(run.UID) + ".load.1"}
		ns.WaitForAnalysisRun("terminated", "to have a Job", func(run *v1alpha1.AnalysisRun) bool {
			r := run.Status.MetricResults
			return len(r) > 0 && len(r[0].Measurements) > 0 && r[0].Measurements[0].Message != "the Job is about to be created"
		})
		var job batchv1.Job
		if err := ns.Client.Get(t.Context(), key, &job); err != nil {
			t.Fatal(err)
		}
		if !metav1.IsControlledBy(&job, run) {
			t.Errorf("owners %v", job.OwnerReferences)
		}
		if diff := gocmp.Diff(map[string]string{v1alpha1.AnalysisRunUIDLabel: string(run.UID)}, job.Labels); diff != "" {
			t.Errorf("labels (-want +got):\n%s", diff)
		}
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"terminate":true}}`))
		if err := ns.Client.Patch(t.Context(), run, patch); err != nil {
			t.Fatal(err)
		}
		ended := ns.WaitForAnalysisRun("terminated", "to end", hasEnded)
		if ended.Status.Phase != v1alpha1.AnalysisPhaseInconclusive || ended.Status.Message != "Run Terminated" {
			t.Errorf("%s: %s", ended.Status.Phase, ended.Status.Message)
		}
		ns.WaitForJobToGo(key.Name)
	})
}

// TestJobsOutliveTheController kills the controller while a Job runs: it is the same Job that counts.
func TestJobsOutliveTheController(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	ns.StartController()
	createRun(t, ns, "run", `{metrics: [{name: load, interval: 1s, count: 2, provider: {job: {spec: {template: {spec: {containers: [{name: load, image: "busybox:1", command: [sleep, "3"]}]}}}}}}]}`)
	for n := 1; n <= 2; n++ {
		ns.WaitForAnalysisRun("run", fmt.Sprintf("to run Job %d", n), func(run *v1alpha1.AnalysisRun) bool {
			r := run.Status.MetricResults
			return len(r) > 0 && len(r[0].Measurements) == n
		})
		ns.StopController(syscall.SIGKILL)
		ns.StartController()
	}
	run := ns.WaitForAnalysisRun("run", "to end", hasEnded)
	if r := run.Status.MetricResults[0]; run.Status.Phase != v1alpha1.AnalysisPhaseSuccessful || r.Count != 2 || len(r.Measurements) != 2 {
		t.Errorf("%s: %+v", run.Status.Phase, r)
	}
	var jobs batchv1.JobList
	if err := ns.Client.List(t.Context(), &jobs, client.InNamespace(ns.Name)); err != nil {
		t.Fatal(err)
	}
	if len(jobs.Items) != 2 {
		t.Errorf("%d Jobs for 2 measurements", len(jobs.Items))
	}
}

func TestJobsOfMeasurementsThatAreNotKeptAreDeleted(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	ns.StartController()
	made := createRun(t, ns, "run", `{measurementRetention: [{metricName: load, limit: 1}], metrics: [{name: load, interval: 1s, count: 2, provider: {job: {spec: {template: {spec: {containers: [{name: load, image: "busybox:1", command: ["true"]}]}}}}}}]}`)
	run := ns.WaitForAnalysisRun("run", "to end", hasEnded)
	if r := run.Status.MetricResults[0]; run.Status.Phase != v1alpha1.AnalysisPhaseSuccessful || r.Count != 2 || len(r.Measurements) != 1 {
		t.Errorf("%s: %+v", run.Status.Phase, r)
	}
	ns.WaitForJobToGo(string(made.UID) + ".load.1")
	var kept batchv1.Job
	if err := ns.Client.Get(t.Context(), client.ObjectKey{Namespace: ns.Name, Name: string(made.UID) + ".load.2"}, &kept); err != nil {
		t.Errorf("the Job of the measurement that is kept: %v", err)
	}
}
