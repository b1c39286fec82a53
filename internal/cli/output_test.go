package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestC47Output(t *testing.T) {
	const object = `apiVersion: argoproj.io/v1alpha1
kind: Experiment
metadata:
  name: compare
  namespace: shop
  uid: exp
spec:
  duration: 10m
  templates:
  - name: one
    selector:
      matchLabels:
        app: x
    template: {}
status:
  availableAt: "2026-01-01T11:57:00Z"
  phase: Running
`
	for name, tt := range map[string]struct {
		args []string
		want result
	}{
		"the object, as it is": {[]string{"get", "exp", "compare", "-o", "yaml"}, result{out: object}},
		"its name":             {[]string{"get", "ro", "web", "-o", "name"}, result{out: "rollout.argoproj.io/web\n"}},
		"one wide line": {[]string{"get", "ro", "web", "-o", "wide"}, result{out: "" +
			"NAME  STRATEGY  STATUS  STEP  SET-WEIGHT  READY  DESIRED  UP-TO-DATE  AVAILABLE  AGE  IMAGES           MESSAGE\n" +
			"web   Canary    Paused  1/4   10          0/0    2        0           0          0s   nginx:1,proxy:1  CanaryPauseStep\n"}},
		"names of all":       {[]string{"list", "ro", "-o", "name"}, result{out: "rollout.argoproj.io/api\nrollout.argoproj.io/web\n"}},
		"only one of all":    {[]string{"list", "ro", "-o", "name", "--name", "web"}, result{out: "rollout.argoproj.io/web\n"}},
		"a list":             {[]string{"list", "exp", "-o", "yaml"}, result{out: "apiVersion: v1\nitems:\n- " + strings.ReplaceAll(strings.TrimSuffix(object, "\n"), "\n", "\n  ") + "\nkind: List\nmetadata:\n  resourceVersion: \"\"\n"}},
		"no such format":     {[]string{"get", "ro", "web", "-o", "jsno"}, result{code: 1, err: "error: --output \"jsno\" is not one of json, yaml, wide, name\n"}},
		"watching an output": {[]string{"get", "ro", "web", "-o", "json", "-w"}, result{code: 1, err: "error: --watch shows a picture: leave --output out, or use 'sluice wait' in a script\n"}},
		"none of the name":   {[]string{"get", "ro", "wbe", "-o", "json"}, result{code: 1, err: "error: there is no rollout 'wbe' in namespace 'shop'; did you mean 'web'?\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, web("", paused), rollout("api", "", fieldsOf(promoted)), experiment)
			if diff := cmp.Diff(tt.want, c.run(t.Context(), tt.args...), cmp.AllowUnexported(result{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestExplain(t *testing.T) {
	c := newCluster(t, web("", paused), replicaSet("a", 1), replicaSet("b", 2))
	got := c.run(t.Context(), "explain", "web")
	if got.code != 0 || !strings.HasPrefix(got.out, "The canary 'web' is Paused: CanaryPauseStep.\n") || got.err != "" {
		t.Errorf("%+v", got)
	}
	asked := c.run(t.Context(), "explain", "web", "-o", "json")
	if !strings.Contains(asked.out, `"status": "Paused"`) {
		t.Errorf("as JSON: %+v", asked)
	}
	if writes := c.writes(); len(writes) > 0 {
		t.Errorf("explaining has written: %s", writes)
	}
	expectError(t, c.run(t.Context(), "explain", "wbe"), "there is no rollout 'wbe' in namespace 'shop'; did you mean 'web'?")
}

const judgedRun = `
apiVersion: argoproj.io/v1alpha1
kind: AnalysisRun
metadata:
  name: web-b-3
  annotations: {rollout.argoproj.io/revision: "3"}
  ownerReferences: [{apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: web, uid: ro, controller: true}]
spec: {metrics: [{name: errors, provider: {prometheus: {query: errors}}}]}
status:
  phase: Running
  metricResults:
  - name: errors
    phase: Running
    successful: 2
    count: 2
    measurements:
    - {phase: Successful, value: "[0.02]", finishedAt: "2026-01-01T11:59:50Z", metadata: {asked: "query ` + "`errors`" + ` at http://prometheus"}}
`

// TestWhatIsMeasuredIsShown: what was asked and the last value are in the picture and in the explanation.
func TestWhatIsMeasuredIsShown(t *testing.T) {
	for _, command := range [][]string{{"get", "ro", "web"}, {"explain", "web"}} {
		got := newCluster(t, web("", midStep), replicaSet("a", 1), replicaSet("b", 1), judgedRun).run(t.Context(), command...)
		want := "  - metric errors Running: [0.02] from query `errors` at http://prometheus\n"
		if command[0] == "get" {
			want = "└──μ errors  Metric       ◌ Running      10s  [0.02] from query `errors` at http://prometheus\n"
		}
		if got.code != 0 || !strings.Contains(got.out, want) {
			t.Errorf("%s: %d\n%s%s\nwant %s", command, got.code, got.out, got.err, want)
		}
	}
}
