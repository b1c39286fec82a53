package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	k8stesting "k8s.io/client-go/testing"

	"github.com/sluice-delivery/sluice/internal/cli/live"
)

const (
	template = `
apiVersion: argoproj.io/v1alpha1
kind: AnalysisTemplate
metadata: {name: errors}
spec:
  args: [{name: service}, {name: limit, value: "5"}, {name: token, valueFrom: {secretKeyRef: {name: s, key: k}}}]
  metrics: [{name: errors, provider: {web: {url: "http://{{args.service}}"}}}]`
	both = `
apiVersion: argoproj.io/v1alpha1
kind: AnalysisTemplate
metadata: {name: both}
spec:
  templates: [{templateName: errors}]
  metrics: [{name: latency, interval: 1m, provider: {web: {url: "http://x"}}}]`
	experiment = `
apiVersion: argoproj.io/v1alpha1
kind: Experiment
metadata: {name: compare, uid: exp}
spec:
  duration: 10m
  templates: [{name: one, selector: {matchLabels: {app: x}}, template: {}}]
status: {phase: Running, availableAt: "2026-01-01T11:57:00Z"}`
	run = `
apiVersion: argoproj.io/v1alpha1
kind: AnalysisRun
metadata: {name: errors-1}
spec: {metrics: []}`
)

// What the commands write that create, retry, and terminate objects.
func TestWritesOfCreateAndTerminate(t *testing.T) {
	const (
		createdRun = `create analysisruns {"apiVersion":"argoproj.io/v1alpha1","kind":"AnalysisRun","metadata":{`
		errorsSpec = `},"spec":{"args":[{"name":"service","value":"web"},{"name":"limit","value":"5"},` +
			`{"name":"token","valueFrom":{"secretKeyRef":{"key":"k","name":"s"}}}],` +
			`"metrics":[{"name":"errors","provider":{"web":{"url":"http://{{args.service}}"}}}]}}`
	)
	file := filepath.Join(t.TempDir(), "template.yaml")
	if err := os.WriteFile(file, []byte(template[1:]+"\n---\n"+both[1:]), 0o600); err != nil {
		t.Fatal(err)
	}
	type test struct {
		given []string
		in    string
		args  []string
		want  []string
		out   string
		talk  string
	}
	tests := map[string]test{
		"restart": {
			given: []string{web("", promoted)}, args: []string{"restart", "web"},
			want: []string{`merge rollouts web {"spec":{"restartAt":"2026-01-01T12:00:00Z"}}`},
			out:  "rollout 'web' restarts in 0s\n",
		},
		"restart later": {
			given: []string{web("", promoted)}, args: []string{"restart", "web", "-i", "10m"},
			want: []string{`merge rollouts web {"spec":{"restartAt":"2026-01-01T12:10:00Z"}}`},
			out:  "rollout 'web' restarts in 10m0s\n",
		},
		"retry experiment": {
			given: []string{experiment}, args: []string{"retry", "experiment", "compare"},
			want: []string{`merge experiments compare {"status":null}`},
			out:  "experiment 'compare' retried\n",
		},
		"terminate experiment": {
			given: []string{experiment}, args: []string{"terminate", "experiment", "compare"},
			want: []string{`merge experiments compare {"spec":{"terminate":true}}`},
			out:  "experiment 'compare' terminated\n",
		},
		"terminate analysisrun": {
			given: []string{run}, args: []string{"terminate", "ar", "errors-1"},
			want: []string{`merge analysisruns errors-1 {"spec":{"terminate":true}}`},
			out:  "analysisrun 'errors-1' terminated\n",
		},
		"create, several in one file, one with a namespace of its own": {
			in:   "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: a, namespace: other}\n---\n# nothing\n---\n" + run[1:],
			args: []string{"create", "-f", "-"},
			want: []string{
				`create rollouts in other {"apiVersion":"argoproj.io/v1alpha1","kind":"Rollout","metadata":{"name":"a","namespace":"other"}}`,
				`create analysisruns {"apiVersion":"argoproj.io/v1alpha1","kind":"AnalysisRun","metadata":{"name":"errors-1"},"spec":{"metrics":[]}}`,
			},
			out: "rollout.argoproj.io/a created\nanalysisrun.argoproj.io/errors-1 created\n",
		},
		"create analysisrun from the cluster": {
			given: []string{template}, args: []string{"create", "analysisrun", "--from", "errors", "-a", "service=web", "--name", "try", "--instance-id", "b"},
			want: []string{createdRun + `"labels":{"argo-rollouts.argoproj.io/controller-instance-id":"b"},"name":"try"` + errorsSpec},
			out:  "analysisrun.argoproj.io/try created\n",
		},
		"create analysisrun from a file, with an argument that nobody wants": {
			args: []string{"create", "analysisrun", "--from-file", file, "-a", "service=web", "-a", "limt=7"},
			want: []string{createdRun + `"generateName":"errors-"` + errorsSpec},
			out:  "analysisrun.argoproj.io/ created\n",
			talk: "Warning: no template has an argument \"limt\"; did you mean \"limit\"?\n",
		},
		"create analysisrun from a template that names another one": {
			given: []string{template, both}, args: []string{"create", "analysisrun", "--from", "both", "-a", "service=web", "--generate-name", "x-"},
			want: []string{createdRun + `"generateName":"x-"},"spec":{"args":[{"name":"service","value":"web"},{"name":"limit","value":"5"},` +
				`{"name":"token","valueFrom":{"secretKeyRef":{"key":"k","name":"s"}}}],` +
				`"metrics":[{"interval":"1m","name":"latency","provider":{"web":{"url":"http://x"}}},` +
				`{"name":"errors","provider":{"web":{"url":"http://{{args.service}}"}}}]}}`},
			out: "analysisrun.argoproj.io/ created\n",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, tt.given...)
			r := c.runWith(t.Context(), tt.in, tt.args...)
			if diff := cmp.Diff(tt.want, c.writes()); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(result{out: tt.out, err: tt.talk}, r, cmp.AllowUnexported(result{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrorsOfCreate(t *testing.T) {
	for name, tt := range map[string]struct {
		in   string
		args []string
		want string
	}{
		"no file":                {"", []string{"create"}, "create what? Give a file with -f, or see 'sluice create --help'"},
		"file that is not there": {"", []string{"create", "-f", "nowhere.yaml"}, "there is no file nowhere.yaml"},
		"folder without any":     {"", []string{"create", "-f", t.TempDir()}, "folder "},
		"nothing in it":          {"# later\n", []string{"create", "-f", "-"}, "there is no object in -"},
		"not YAML":               {"a: [", []string{"create", "-f", "-"}, "<stdin>: error converting YAML to JSON: yaml: line 1: "},
		"another kind": {
			"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}",
			[]string{"create", "-f", "-"},
			"<stdin>: deployment.apps/a is not for this command, which creates AnalysisRun, AnalysisTemplate, ClusterAnalysisTemplate, Experiment, Rollout; " +
				"use kubectl create. Nothing was created",
		},
		"watching what cannot be shown": {run, []string{"create", "-w", "-f", "-"}, "--watch shows one Rollout or one Experiment: "},
		"a run of nothing":              {"", []string{"create", "analysisrun"}, "from which template? Use one of --from NAME and --from-file FILE"},
		"a template that does not exist": {
			"",
			[]string{"create", "ar", "--from", "error"},
			"there is no AnalysisTemplate 'error' in namespace 'shop'; did you mean 'errors'?",
		},
		"a template of the cluster that does not exist": {"", []string{"create", "ar", "--from", "errors", "--global"}, "there is no ClusterAnalysisTemplate 'errors'"},
		"an argument without a value":                   {"", []string{"create", "ar", "--from", "errors"}, `argument "service" has no value: give it one with -a service=VALUE`},
		"an argument that is none":                      {"", []string{"create", "ar", "--from", "errors", "-a", "service"}, `--argument "service" is not NAME=VALUE`},
		"restart in no time":                            {"", []string{"restart", "web", "--in", "soon"}, `--in "soon" is not a duration: write for example 30s, 5m or 1h`},
		"terminate of none":                             {"", []string{"terminate", "experiment", "compar"}, "there is no experiment 'compar' in namespace 'shop'; did you mean 'compare'?"},
		"terminate of nothing":                          {"", []string{"terminate", "analysisrun"}, "which analysisrun? Give its name: sluice terminate analysisrun NAME"},
		"experiment that does not exist":                {"", []string{"get", "experiment", "x"}, "there is no experiment 'x' in namespace 'shop'"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, web("", promoted), template, experiment)
			r := c.runWith(t.Context(), tt.in, tt.args...)
			expectError(t, r, tt.want)
			if tt.args[0] == "create" && len(c.writes()) > 0 {
				t.Errorf("something was written: %s", c.writes())
			}
		})
	}
}

// A line whenever what a line shows has changed, and none for what it does not show.
func TestListWatches(t *testing.T) {
	c := newCluster(t, web("", midStep), rollout("other", "", fieldsOf(promoted)))
	changes := watch.NewFake()
	c.PrependWatchReactor("rollouts", func(k8stesting.Action) (bool, watch.Interface, error) { return true, changes, nil })
	go func() {
		for _, text := range []string{web("", midStep), web("", paused), rollout("other", "", fieldsOf(paused)), web("", promoted)} {
			changes.Modify(newCluster(t, text).first(t))
		}
	}()
	got := c.runUntil(t.Context(), "Healthy", "list", "rollouts", "-w", "--timestamps", "--name", "web")
	want := result{code: 130, out: "" +
		"2026-01-01T12:00:00Z  NAME  STRATEGY  STATUS       STEP  SET-WEIGHT  READY  DESIRED  UP-TO-DATE  AVAILABLE\n" +
		"2026-01-01T12:00:00Z  web   Canary    Progressing  2/4   50          0/0    2        0           0\n" +
		"2026-01-01T12:00:00Z  web   Canary    Paused       1/4   10          0/0    2        0           0\n" +
		"2026-01-01T12:00:00Z  web   Canary    Healthy      4/4   100         0/0    2        0           0\n"}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func (c cluster) first(t *testing.T) *unstructured.Unstructured {
	list, err := c.Resource(live.Rollouts).Namespace("shop").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) == 0 {
		t.Error("no rollout", err)
		return &unstructured.Unstructured{}
	}
	return &list.Items[0]
}

func TestListExperiments(t *testing.T) {
	c := newCluster(t, experiment, `
apiVersion: argoproj.io/v1alpha1
kind: Experiment
metadata: {name: over, creationTimestamp: "2026-01-01T10:00:00Z"}
spec: {templates: []}
status: {phase: Successful}`)
	got := c.run(t.Context(), "list", "experiments")
	want := result{out: "NAME     STATUS      DURATION  REMAINING  AGE\n" +
		"compare  Running     10m       7m         0s\n" +
		"over     Successful  -         -          120m\n"}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	all := c.run(t.Context(), "list", "exp", "-A")
	if want := "NAMESPACE  NAME     STATUS      DURATION  REMAINING  AGE\nshop       compare  "; len(all.out) < len(want) || all.out[:len(want)] != want {
		t.Errorf("of all namespaces: %s", all.out)
	}
}
