package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

const templates = `
apiVersion: argoproj.io/v1alpha1
kind: AnalysisTemplate
metadata: {name: errors}
spec:
  args: [{name: service}]
  metrics: [{name: errors, provider: {web: {url: "http://{{args.service}}", jsonPath: "{$.n}"}}, successCondition: result < 1}]
---
apiVersion: argoproj.io/v1alpha1
kind: Experiment
metadata: {name: compare}
spec:
  duration: 10m
  templates:
    - name: one
      selector: {matchLabels: {app: one}}
      template:
        metadata: {labels: {app: one}}
        spec: {containers: [{name: nginx, image: "nginx:1"}]}
`

func manifest(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "manifest.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// What begins and ends analyses and experiments, seen from the objects. No controller runs: what is there is what was written.
func TestObjectsAreCreatedAndEnded(t *testing.T) {
	ns := playtest.New(t)
	p := newPlugin(t, ns)

	out, _ := p.run(0, "create", "-f", manifest(t, templates))
	if want := "analysistemplate.argoproj.io/errors created\nexperiment.argoproj.io/compare created\n"; out != want {
		t.Errorf("create: %q, want %q", out, want)
	}
	_, talk := p.run(1, "create", "-f", manifest(t, strings.Replace(templates, "duration:", "duraton:", 1)))
	contains(t, talk, `analysistemplates.argoproj.io "errors" already exists`, `unknown field "spec.duraton"`)

	out, _ = p.run(0, "create", "analysisrun", "--from", "errors", "-a", "service=web", "--instance-id", "blue")
	name := strings.TrimSuffix(strings.TrimPrefix(out, "analysisrun.argoproj.io/"), " created\n")
	if !strings.HasPrefix(name, "errors-") || len(name) < len("errors-12345") {
		t.Fatalf("name of the run: %q", out)
	}
	var run v1alpha1.AnalysisRun
	read(t, ns, name, &run)
	if len(run.Spec.Args) != 1 || *run.Spec.Args[0].Value != "web" || run.Labels[v1alpha1.InstanceIDLabel] != "blue" || len(run.Spec.Metrics) != 1 {
		t.Errorf("the run: %+v", run)
	}
	_, talk = p.run(1, "create", "analysisrun", "--from", "errors")
	contains(t, talk, `error: argument "service" has no value: give it one with -a service=VALUE`)

	p.run(0, "terminate", "analysisrun", name)
	p.run(0, "terminate", "experiment", "compare")
	read(t, ns, name, &run)
	var exp v1alpha1.Experiment
	read(t, ns, "compare", &exp)
	if !run.Spec.Terminate || !exp.Spec.Terminate {
		t.Errorf("not terminated: run %v, experiment %v", run.Spec.Terminate, exp.Spec.Terminate)
	}

	exp.Status.Phase = v1alpha1.AnalysisPhaseFailed
	if err := ns.Client.Update(t.Context(), &exp); err != nil {
		t.Fatal(err)
	}
	out, _ = p.run(0, "list", "experiments")
	contains(t, out, "NAME     STATUS  DURATION  REMAINING  AGE\ncompare  Failed  10m       -          ")
	out, _ = p.run(0, "get", "experiment", "compare")
	contains(t, out, "Status:          ✖ Failed", "Duration:        10m", "Σ compare")
	p.run(0, "retry", "experiment", "compare")
	exp = v1alpha1.Experiment{}
	read(t, ns, "compare", &exp)
	if exp.Status.Phase != "" {
		t.Errorf("status after a retry: %+v", exp.Status)
	}

	before := time.Now().Add(10 * time.Minute).Truncate(time.Second)
	ns.CreateRollout(web)
	p.run(0, "restart", "web", "--in", "10m")
	if at := ns.Rollout("web").Spec.RestartAt; at == nil || at.Time.Before(before) || at.After(time.Now().Add(10*time.Minute)) {
		t.Errorf("restartAt %v, asked for at %s", at, before)
	}
}

func read(t *testing.T, ns *playtest.Namespace, name string, into client.Object) {
	t.Helper()
	if err := ns.Client.Get(t.Context(), client.ObjectKey{Namespace: ns.Name, Name: name}, into); err != nil {
		t.Fatal(err)
	}
}
