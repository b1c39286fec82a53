package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Lint asks no cluster, so none is there.
func TestLint(t *testing.T) {
	const (
		good = `
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web}
spec:
  minReadySeconds: 5
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:1"}]}
  strategy: {canary: {maxSurge: 1}}
`
		summary = "1 error and 1 warning in 2 objects of 2 files\n"
	)
	folder := t.TempDir()
	t.Chdir(folder)
	for name, text := range map[string]string{
		"a.yaml":          good + "  revisionHistoryLimit: 0\n",
		"deep/b, %1.yaml": replacer("minReadySeconds: 5", "minReadySeconds: -5", "name: web}", "name: b}")(good),
		"deep/notes.txt":  "a: [",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text[1:]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		in   string
		args []string
		want result
	}{
		"text": {"", []string{"-R", "-f", "."}, result{code: 1, err: "error: " + summary, out: "" +
			"a.yaml:11: warning: Rollout web: spec.revisionHistoryLimit: with 0 no earlier version is kept, and there is nothing to undo to: keep at least 1\n" +
			"deep/b, %1.yaml:5: error: Rollout b: spec.minReadySeconds: should be greater than or equal to 0\n"}},
		"github": {"", []string{"-f", "deep", "-o", "github", "a.yaml"}, result{code: 1, err: "error: " + summary, out: "" +
			"::error file=deep/b%2C %251.yaml,line=5,title=Rollout b::spec.minReadySeconds: should be greater than or equal to 0\n" +
			"::warning file=a.yaml,line=11,title=Rollout web::spec.revisionHistoryLimit: with 0 no earlier version is kept, and there is nothing to undo to: keep at least 1\n"}},
		"json": {"", []string{"-f", "deep", "-o", "json"}, result{code: 1, err: "error: 1 error and 0 warnings in 1 object of 1 file\n", out: `[
  {
    "file": "deep/b, %1.yaml",
    "line": 5,
    "severity": "error",
    "object": "Rollout b",
    "field": "spec.minReadySeconds",
    "message": "should be greater than or equal to 0"
  }
]
`}},
		"nothing wrong, as json":     {good, []string{"-f", "-", "-o", "json"}, result{out: "[]\n", err: "0 errors and 0 warnings in 1 object of 1 file\n"}},
		"warnings do not fail":       {good + "  revisionHistoryLimit: 0\n", []string{"-f", "-"}, result{err: "0 errors and 1 warning in 1 object of 1 file\n", out: "<stdin>:12: warning: Rollout web: spec.revisionHistoryLimit: with 0 no earlier version is kept, and there is nothing to undo to: keep at least 1\n"}},
		"warnings fail where wanted": {good + "  revisionHistoryLimit: 0\n", []string{"-f", "-", "--strict"}, result{code: 1, err: "error: 0 errors and 1 warning in 1 object of 1 file\n", out: "<stdin>:12: warning: Rollout web: spec.revisionHistoryLimit: with 0 no earlier version is kept, and there is nothing to undo to: keep at least 1\n"}},
		"no file":                    {"", nil, result{code: 1, err: "error: lint what? Give a file or a folder: sluice lint -f FILE\n"}},
		"no manifests":               {"", []string{"-f", t.TempDir()}, result{code: 1}},
		"no such output":             {"", []string{"-f", "-", "-o", "xml"}, result{code: 1, err: "error: --output \"xml\" is not one of text, json, github\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			got := c.runWith(t.Context(), tt.in, append([]string{"lint"}, tt.args...)...)
			if name == "no manifests" {
				expectError(t, got, "folder ")
				return
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(result{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(c.Actions()) > 0 {
				t.Errorf("the cluster was asked: %v", c.Actions())
			}
		})
	}
}
