package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/internal/clean"
)

// hostile is text that a user may write into an image, an annotation, a message or a name: it colors the terminal in three ways, and has the
// rest read from right to left.
const hostile = "\x1b[31m\u009b31m\u202e\u2066\u200f\u061c\x7f\U000e0041"

// TestNothingSteersTheTerminal gives every command an object whose values are hostile.
func TestNothingSteersTheTerminal(t *testing.T) {
	quoted, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	quoted = []byte(clean.Text(string(quoted))) // YAML takes these characters as escapes only
	text := strings.Trim(string(quoted), `"`)
	object := strings.NewReplacer(
		"nginx:1", "nginx"+text+":1", "metadata: {name: web,", fmt.Sprintf("metadata: {name: web, annotations: {note: %s, %q: x},", quoted, "rollout.argoproj.io/revision"),
		`message: CanaryPauseStep`, fmt.Sprintf(`message: "%s"`, text),
	).Replace(web(fmt.Sprintf("  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: %s}\n", quoted), paused))
	set := strings.Replace(replicaSet("b", 2), "nginx:b", "nginx"+text+":b", 1)
	file := filepath.Join(t.TempDir(), "rollout.yaml")
	lintable := strings.Replace(object, "canary: {steps", fmt.Sprintf("canary: {canaryService: %s, stableService: %s, steps", quoted, quoted), 1)
	if err := os.WriteFile(file, []byte(lintable), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"get", "ro", "web"},
		{"get", "ro", "web", "--no-color"},
		{"get", "ro", "web", "-o", "wide"},
		{"get", "ro", "web", "-o", "json"},
		{"get", "ro", "web", "-o", "yaml"},
		{"get", "ro", hostile},
		{"get", "ro", "web", "-o", hostile},
		{"list", "ro", "-o", "wide"},
		{"list", "ro", "-o", "yaml"},
		{"list", "ro", "-o", "json"},
		{"list", "ro"},
		{"list", "exp"},
		{"status", "web", "--watch=false"},
		{"history", "web"},
		{"history", "web", "-o", "json"},
		{"diff", "web"},
		{"diff", "web", "-o", "json"},
		{"explain", "web"},
		{"explain", "web", "-o", "json"},
		{"set", "image", "web", "x=" + hostile},
		{"set", "image", "web", "nginx=" + hostile},
		{"promote", hostile},
		{"abort", hostile},
		{"undo", "web", "--to-revision", "7"},
		{hostile},
		{"get", "ro", "web", "--" + hostile},
		{"lint", "-f", file},
		{"lint", "-f", file, "-o", "json"},
		{"lint", "-f", hostile},
		{"simulate", "-f", file, "--image", "nginx=x"},
		{"simulate", "-f", file, "-o", "json"},
		{"simulate", "-f", file, "-o", "html"},
		{"simulate", "-f", file, "-o", "svg"},
		{"__complete", "get", "ro", ""},
		{"__complete", "set", "image", "web", ""},
	} {
		t.Run(strings.ReplaceAll(strings.Join(args, " "), hostile, "HOSTILE"), func(t *testing.T) {
			c := newCluster(t, object, set, replicaSet("a", 1), experiment)
			got := c.run(t.Context(), args...)
			for where, text := range map[string]string{"output": got.out, "errors": got.err} {
				if slices.Equal(args, []string{"get", "ro", "web"}) {
					text = withoutColors(text)
				}
				if i := strings.IndexFunc(text, clean.IsHidden); i >= 0 {
					t.Errorf("the %s have %q", where, text[max(0, i-40):min(len(text), i+40)])
				}
			}
			if strings.Contains(got.err, "control characters are not allowed") {
				t.Error(got.err)
			}
			if slices.Contains(args, "json") && got.code == 0 && !json.Valid([]byte(got.out)) {
				t.Errorf("it is no JSON: %s", got.out)
			}
		})
	}
}

// TestNothingRunsInTheBrowser gives the pages and pictures of a simulation a metric whose name is markup.
func TestNothingRunsInTheBrowser(t *testing.T) {
	const markup = `"<script>alert(1)</script>&`
	text, err := os.ReadFile("testdata/simulate/canary.yaml")
	if err != nil {
		t.Fatal(err)
	}
	named := strings.Replace(string(text), "{name: error-rate,", "{name: '"+markup+"',", 1)
	for _, kind := range []string{"html", "svg"} {
		t.Run(kind, func(t *testing.T) {
			got := simulated(t, named, "-f", "-", "--scenario", told(t, "at 5m fail metric "+markup), "-o", kind)
			if strings.Contains(got.out, "<script>") || !strings.Contains(got.out, "&lt;script&gt;alert(1)") {
				t.Errorf("the name is not shown as a text: %s%s", got.out, got.err)
			}
		})
	}
}

// withoutColors removes the colors of the picture of a rollout.
func withoutColors(text string) string {
	for _, color := range []string{"0", "2", "31", "32", "33", "36"} {
		text = strings.ReplaceAll(text, "\x1b["+color+"m", "")
	}
	return text
}

// TestYAMLKeepsItsMeaning: what is printed can be applied.
func TestYAMLKeepsItsMeaning(t *testing.T) {
	quoted, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	quoted = []byte(clean.Text(string(quoted)))
	object := strings.Replace(web("", paused), "metadata: {name: web,", fmt.Sprintf("metadata: {name: web, annotations: {note: %s, plain: größer},", quoted), 1)
	got := newCluster(t, object).run(t.Context(), "get", "ro", "web", "-o", "yaml")
	var back struct {
		Metadata struct{ Annotations map[string]string }
	}
	if err := yaml.Unmarshal([]byte(got.out), &back); err != nil || back.Metadata.Annotations["note"] != hostile || back.Metadata.Annotations["plain"] != "größer" {
		t.Errorf("%q (%v), want %q\n%s%s", back.Metadata.Annotations["note"], err, hostile, got.out, got.err)
	}
}
