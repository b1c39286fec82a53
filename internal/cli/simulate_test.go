package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
		"a canary":                       {"canary.out", []string{"-f", "testdata/simulate/canary.yaml"}},
		"a canary that fails":            {"bad.out", []string{"-f", "testdata/simulate/canary.yaml", "--scenario", "testdata/simulate/bad.txt"}},
		"a canary by the Gateway API":    {"gatewayapi.out", []string{"-f", "../../examples/canary-gatewayapi.yaml"}},
		"a canary by ingress-nginx":      {"nginx.out", []string{"-f", "../../examples/canary-nginx.yaml"}},
		"a blue-green update":            {"bluegreen.out", []string{"-f", "testdata/simulate/bluegreen.yaml"}},
		"a canary for programs":          {"canary.json", []string{"-f", "testdata/simulate/canary.yaml", "-o", "json"}},
		"a blue-green update for people": {"bluegreen.html", []string{"-f", "testdata/simulate/bluegreen.yaml", "-o", "html"}},
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
				t.Error("colours in a pipe")
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
	withoutService := bytes.ReplaceAll(text, []byte("kind: Service"), []byte("kind: ConfigMap"))
	if r := simulated(t, string(withoutService), "-f", "-"); r.code == 0 || !strings.Contains(r.err, `service "shop" not found`) {
		t.Errorf("exit %d: %s", r.code, r.err)
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
