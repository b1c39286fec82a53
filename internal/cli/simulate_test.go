package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8stesting "k8s.io/client-go/testing"

	"github.com/sluice-delivery/sluice/internal/view"
)

var rewriteSimulations = flag.Bool("rewrite-simulations", false, "write what simulate says into testdata/simulate")

func simulated(t *testing.T, in string, args ...string) result {
	t.Helper()
	return newCluster(t).runWith(t.Context(), in, append([]string{"simulate"}, args...)...)
}

// TestSimulations holds whole stories against files, in each of the three forms.
func TestSimulations(t *testing.T) {
	for name, c := range map[string]struct {
		golden string
		args   []string
	}{
		"a canary":                         {"canary.out", []string{"-f", "testdata/simulate/canary.yaml"}},
		"a canary that fails":              {"bad.out", []string{"-f", "testdata/simulate/canary.yaml", "--scenario", "testdata/simulate/bad.txt"}},
		"a canary by the Gateway API":      {"gatewayapi.out", []string{"-f", "../../examples/canary-gatewayapi.yaml"}},
		"a canary by ingress-nginx":        {"nginx.out", []string{"-f", "../../examples/canary-nginx.yaml"}},
		"a canary by an ALB":               {"alb.out", []string{"-f", "../../examples/canary-alb.yaml"}},
		"a canary by Istio":                {"istio.out", []string{"-f", "../../examples/canary-istio.yaml"}},
		"a canary by Apache APISIX":        {"apisix.out", []string{"-f", "../../examples/canary-apisix.yaml"}},
		"a canary by a TrafficSplit":       {"smi.out", []string{"-f", "../../examples/canary-smi.yaml"}},
		"a canary by Ambassador":           {"ambassador.out", []string{"-f", "../../examples/canary-ambassador.yaml"}},
		"a canary by Traefik":              {"traefik.out", []string{"-f", "../../examples/canary-traefik.yaml"}},
		"copies by Traefik":                {"traefik-mirror.out", []string{"-f", "../../examples/canary-traefik-mirror.yaml"}},
		"a canary by an object of Contour": {"contour.out", []string{"-f", "../../examples/canary-contour.yaml"}},
		"a blue-green update":              {"bluegreen.out", []string{"-f", "testdata/simulate/bluegreen.yaml"}},
		"a canary for programs":            {"canary.json", []string{"-f", "testdata/simulate/canary.yaml", "-o", "json"}},
		"a blue-green update for people":   {"bluegreen.html", []string{"-f", "testdata/simulate/bluegreen.yaml", "-o", "html"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := simulated(t, "", c.args...)
			if r.code != 0 {
				t.Fatalf("exit %d: %s", r.code, r.err)
			}
			path := filepath.Join("testdata/simulate", c.golden)
			if *rewriteSimulations {
				if err := os.WriteFile(path, []byte(r.out), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), r.out); diff != "" {
				t.Errorf("(-file +now; go test ./internal/cli -run TestSimulations -rewrite-simulations)\n%s", diff)
			}
			if strings.Contains(r.out, "\x1b") {
				t.Error("colors in a pipe")
			}
		})
	}
}

// TestSimulationFitsTerminal draws a story at the widths of terminals.
func TestSimulationFitsTerminal(t *testing.T) {
	r := simulated(t, "", "-f", "testdata/simulate/canary.yaml", "--scenario", "testdata/simulate/bad.txt", "-o", "json")
	var s view.Simulation
	if err := json.Unmarshal([]byte(secondsAsDurations(r.out)), &s); err != nil {
		t.Fatal(err)
	}
	for _, columns := range []int{40, 80, 120, 200} {
		for line := range strings.Lines(s.Text(view.TextOptions{Width: columns})) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > columns {
				t.Errorf("at %d columns a line takes %d: %s", columns, n, line)
			}
			if columns >= 80 && strings.Contains(line, "…\n") {
				t.Errorf("at %d columns a line is cut: %s", columns, line)
			}
		}
	}
}

// secondsAsDurations turns the seconds of the JSON, which are for other programs, into what Go reads: nanoseconds.
func secondsAsDurations(text string) string {
	var tree any
	if json.Unmarshal([]byte(text), &tree) != nil {
		return text
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, value := range v {
				if n, ok := value.(float64); ok && (key == "at" || key == "duration") {
					v[key] = int64(n * 1e9)
				}
				walk(value)
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(tree)
	out, _ := json.Marshal(tree)
	return string(out)
}

// TestSimulateExpectations shows what a CI job sees.
func TestSimulateExpectations(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		says string // empty: all is as expected
	}{
		"what is so":                 {[]string{"--expect", "promoted", "--expect", "duration<10m", "--expect", "min-capacity>=10", "--expect", "max-pods<=12"}, ""},
		"what is not so":             {[]string{"--expect", "aborted"}, "expected aborted: it ends Healthy"},
		"it takes longer":            {[]string{"--expect", "duration<5m"}, "expected duration<5m: duration is 8m"},
		"nobody can expect that":     {[]string{"--expect", "promotd"}, `did you mean "promoted"?`},
		"no duration":                {[]string{"--expect", "duration<5"}, `"5" is not a duration`},
		"a failure that is expected": {[]string{"--scenario", "testdata/simulate/bad.txt", "--expect", "aborted", "--expect", "degraded"}, ""},
		"where a person must go on":  {[]string{"--stop-at-pauses", "--expect", "paused"}, ""},
		"a comparison of a word":     {[]string{"--expect", "promoted=1"}, `"promoted" has nothing to be compared with: write "promoted" alone`},
		"nothing":                    {[]string{"--expect", ""}, `--expect "" is not a condition: write one of promoted, aborted`},
		"half a pod":                 {[]string{"--expect", "max-pods<12.5"}, `"12.5" is not a number of pods`},
		"less than no pods":          {[]string{"--expect", "min-capacity>-1"}, ""},
		"a mistaken operator":        {[]string{"--expect", "max-pods=<12"}, `"=<" in "max-pods=<12" is not one of`},
		"no pods and one less":       {[]string{"--replicas", "-1"}, "--replicas must not be negative, got -1"},
		"a scenario that is missing": {[]string{"--scenario", "bad.txt"}, "there is no file bad.txt"},
		"two names":                  {[]string{"web", "shop"}, `only one rollout can be simulated, not ["web" "shop"]: leave the others out`},
		"a name that is not there":   {[]string{"wbe"}, `there is no Rollout "wbe" in testdata/simulate/canary.yaml: there are web`},
		"its own name":               {[]string{"web", "--expect", "promoted"}, ""},
		"other forms":                {[]string{"-o", "yaml"}, `--output "yaml" is not one of text, json, html`},
	} {
		t.Run(name, func(t *testing.T) {
			r := simulated(t, "", append([]string{"-f", "testdata/simulate/canary.yaml"}, c.args...)...)
			want := 0
			if c.says != "" {
				want = 1
			}
			if strings.HasPrefix(c.says, "expected ") {
				want = 2
			}
			if r.code != want || !strings.Contains(r.err, c.says) {
				t.Errorf("exit %d: %s", r.code, r.err)
			}
		})
	}
}

func TestSimulateFromStandardInput(t *testing.T) {
	text, err := os.ReadFile("testdata/simulate/bluegreen.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if r := simulated(t, string(text), "-f", "-", "--replicas", "2", "--expect", "max-pods=4"); r.code != 0 {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	if r := simulated(t, "at 1m abort", "-f", "-"); r.code != 1 || !strings.Contains(r.err, "<stdin>: this is YAML, but no manifest") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	withoutService := bytes.ReplaceAll(text, []byte("kind: Service"), []byte("kind: ConfigMap"))
	if r := simulated(t, string(withoutService), "-f", "-"); r.code == 0 || !strings.Contains(r.err, `service "shop" not found`) {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}

// scaler is a HorizontalPodAutoscaler of up to 20 pods.
func scaler(name, kind, target string) string {
	return fmt.Sprintf(`
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: %s}
spec: {scaleTargetRef: {apiVersion: argoproj.io/v1alpha1, kind: %s, name: %s}, maxReplicas: 20}
`, name, kind, target)
}

// TestSimulateAutoscaler: the load is for the autoscaler that scales the Rollout, and for no other.
func TestSimulateAutoscaler(t *testing.T) {
	text, err := os.ReadFile("testdata/simulate/canary.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		scalers string
		says    string
	}{
		"its own":               {scaler("web", "Rollout", "web"), "the autoscaler scales from 10 to 14"},
		"its own among others":  {scaler("a", "Rollout", "shop") + "---" + scaler("web", "Rollout", "web"), "the autoscaler scales from 10 to 14"},
		"none":                  {"", `none in the files scales Rollout "web": give its manifest too, or write "scale 14"`},
		"that of another":       {scaler("a", "Rollout", "shop"), `none in the files scales Rollout "web" ("a" scales Rollout "shop"): give`},
		"that of a Deployment":  {scaler("a", "Deployment", "web"), `("a" scales Deployment "web")`},
		"that of another group": {strings.ReplaceAll(scaler("a", "Rollout", "web"), "argoproj.io", "kruise.io"), `none in the files scales Rollout "web"`},
	} {
		t.Run(name, func(t *testing.T) {
			r := simulated(t, string(text)+"\n---\n"+c.scalers, "-f", "-", "--scenario", told(t, "at 1m load 14"))
			if !strings.Contains(r.out+r.err, c.says) {
				t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
			}
		})
	}
}

// TestSimulateLiveAutoscaler: that of the cluster is read, where the scenario has work for it.
func TestSimulateLiveAutoscaler(t *testing.T) {
	text, err := os.ReadFile("testdata/simulate/canary.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rollout, template, _ := strings.Cut(string(text), "---\n")
	args := []string{"simulate", "web", "--image", "web=registry/web:3", "--scenario", told(t, "at 1m load 14")}
	for want, scaler := range map[string]string{
		"the autoscaler scales from 10 to 14":                                            scaler("web", "Rollout", "web"),
		`none in namespace "shop" scales Rollout "web": create one, or write "scale 14"`: scaler("web", "Rollout", "shop"),
	} {
		if r := newCluster(t, rollout, template, scaler).run(t.Context(), args...); !strings.Contains(r.out+r.err, want) {
			t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
		}
	}
	c := newCluster(t, rollout, template)
	c.PrependReactor("list", "horizontalpodautoscalers", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "horizontalpodautoscalers"}, "", errors.New("no"))
	})
	r := c.run(t.Context(), args...)
	if want := `you may not list horizontalpodautoscalers in namespace "shop": ask for that right, or write "scale 14"`; !strings.Contains(r.err, want) {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	if r := c.run(t.Context(), args[:4]...); r.code != 0 {
		t.Errorf("nobody asks for an autoscaler, and it failed: exit %d: %s", r.code, r.err)
	}
}

// TestSimulateFilesOfMany: of several Rollouts a name says which is played, and objects of other groups are not taken for ours.
func TestSimulateFilesOfMany(t *testing.T) {
	text, err := os.ReadFile("testdata/simulate/canary.yaml")
	if err != nil {
		t.Fatal(err)
	}
	second := strings.ReplaceAll(string(text), "name: web}\n", "name: shop}\n")
	knative := "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: web}\nspec: {traffic: []}\n"
	kruise := "apiVersion: rollouts.kruise.io/v1beta1\nkind: Rollout\nmetadata: {name: web}\nspec: {}\n"
	all := strings.Join([]string{string(text), second, knative, kruise}, "\n---\n")
	if r := simulated(t, all, "-f", "-", "shop"); r.code != 0 || !strings.HasPrefix(r.out, "shop: canary\n") {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
	r := simulated(t, all, "-f", "-")
	if want := "only one Rollout can be simulated, and there are web, shop: add one of these names to the command"; r.code != 1 || !strings.Contains(r.err, want) {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}

// TestSimulateWarnsOfFieldsThatPlayNoPart: the API server would not take them, and nothing would come of them.
func TestSimulateWarnsOfFieldsThatPlayNoPart(t *testing.T) {
	text, err := os.ReadFile("testdata/simulate/canary.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r := simulated(t, strings.Replace(string(text), "maxSurge", "maxSurg", 1), "-f", "-")
	want := "warning: <stdin>: rollout.argoproj.io/web: unknown field \"spec.strategy.canary.maxSurg\", which"
	if !strings.Contains(r.out, want) {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
}

// TestSimulateTellsWhyItRefuses: what is wrong may be a word that is nearly right.
func TestSimulateTellsWhyItRefuses(t *testing.T) {
	text, err := os.ReadFile("testdata/simulate/canary.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for old, c := range map[string]struct{ mistyped, says string }{
		"setWeight: 20": {"setWieght: 20", `unknown field "spec.strategy.canary.steps[0].setWieght"`},
		"replicas: 10":  {"replicas: ten", `spec.replicas: "ten" is not a whole number`},
	} {
		r := simulated(t, strings.Replace(string(text), old, c.mistyped, 1), "-f", "-")
		if r.code != 1 || !strings.Contains(r.err, c.says) {
			t.Errorf("%s: exit %d: %s", c.mistyped, r.code, r.err)
		}
	}
}

// told is a scenario in a file.
func told(t *testing.T, story string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "story.txt")
	if err := os.WriteFile(path, []byte(story+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSimulationEnds says how it ends in words that are true: who goes back is not unfinished, and who waits in vain is not aborted.
func TestSimulationEnds(t *testing.T) {
	for story, want := range map[string]string{
		"at 1m undo":       "Result:          back on the old version after ",
		"at 5s break pods": "Degraded: ProgressDeadlineExceeded: the new version has timed out progressing.",
		"at 1m abort":      "Result:          aborted after ",
	} {
		r := simulated(t, "", "-f", "testdata/simulate/canary.yaml", "--scenario", told(t, story))
		if !strings.Contains(strings.Join(strings.Fields(r.out), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("%s: exit %d: %s%s", story, r.code, r.out, r.err)
		}
	}
}

// TestSimulateWorkload: what is unwise in the template of a workload is warned of, too.
func TestSimulateWorkload(t *testing.T) {
	r := simulated(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "web:latest"}]}}
---
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web}
spec:
  replicas: 4
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  strategy: {canary: {steps: [{setWeight: 25}, {pause: {duration: 1m}}]}}
`, "-f", "-", "--expect", "promoted")
	if r.code != 0 || !strings.Contains(r.out, `latest`) {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
}

// TestSimulateLiveWithoutStable: where nothing tells what the stable version was, it says on what it begins.
func TestSimulateLiveWithoutStable(t *testing.T) {
	text, err := os.ReadFile("testdata/simulate/canary.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rollout, template, _ := strings.Cut(string(text), "---\n")
	r := newCluster(t, rollout+"status: {stableRS: 5f6d, currentPodHash: 7c8e}\n", template).run(t.Context(), "simulate", "web", "--image", "web=registry/web:3")
	if want := "warning: the ReplicaSet of the stable version, 5f6d, is gone"; r.code != 0 || !strings.Contains(r.out, want) {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
}

// TestSimulateLive plays an update of a Rollout of the cluster, which stays as it is.
func TestSimulateLive(t *testing.T) {
	text, err := os.ReadFile("testdata/simulate/canary.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rollout, template, _ := strings.Cut(string(text), "---\n")
	c := newCluster(t, rollout, template)
	r := c.run(t.Context(), "simulate", "web", "--image", "web=registry/web:3", "--expect", "promoted")
	if r.code != 0 {
		t.Fatalf("exit %d: %s", r.code, r.err)
	}
	if w := c.writes(); len(w) > 0 {
		t.Errorf("the cluster was written to: %q", w)
	}
	for want, args := range map[string][]string{
		"update web to what?":               {"simulate", "web"},
		"there is no container \"sidecar\"": {"simulate", "web", "--image", "sidecar=x"},
		"simulate what?":                    {"simulate"},
	} {
		if r := c.run(t.Context(), args...); r.code == 0 || !strings.Contains(r.err, want) {
			t.Errorf("%q: exit %d: %s", args, r.code, r.err)
		}
	}
}
