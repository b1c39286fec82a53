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
			"a.yaml:11: warning: Rollout web: spec.revisionHistoryLimit: with 0, no earlier version is kept and undo is impossible: set at least 1 [no-history]\n" +
			"deep/b, %1.yaml:5: error: Rollout b: spec.minReadySeconds: -5 is negative: write 0 or more [schema]\n"}},
		"github": {"", []string{"-f", "deep", "-o", "github", "a.yaml"}, result{code: 1, err: "error: " + summary, out: "" +
			"::error file=deep/b%2C %251.yaml,line=5,title=Rollout b [schema]::spec.minReadySeconds: -5 is negative: write 0 or more\n" +
			"::warning file=a.yaml,line=11,title=Rollout web [no-history]::spec.revisionHistoryLimit: with 0, no earlier version is kept and undo is impossible: set at least 1\n"}},
		"json": {"", []string{"-f", "deep", "-o", "json"}, result{code: 1, err: "error: 1 error and 0 warnings in 1 object of 1 file\n", out: `[
  {
    "file": "deep/b, %1.yaml",
    "line": 5,
    "severity": "error",
    "rule": "schema",
    "object": "Rollout b",
    "field": "spec.minReadySeconds",
    "message": "-5 is negative: write 0 or more"
  }
]
`}},
		"nothing wrong, as json":     {good, []string{"-f", "-", "-o", "json"}, result{out: "[]\n", err: "0 errors and 0 warnings in 1 object of 1 file\n"}},
		"warnings do not fail":       {good + "  revisionHistoryLimit: 0\n", []string{"-f", "-"}, result{err: "0 errors and 1 warning in 1 object of 1 file\n", out: "<stdin>:12: warning: Rollout web: spec.revisionHistoryLimit: with 0, no earlier version is kept and undo is impossible: set at least 1 [no-history]\n"}},
		"warnings fail where wanted": {good + "  revisionHistoryLimit: 0\n", []string{"-f", "-", "--strict"}, result{code: 1, err: "error: 0 errors and 1 warning in 1 object of 1 file\n", out: "<stdin>:12: warning: Rollout web: spec.revisionHistoryLimit: with 0, no earlier version is kept and undo is impossible: set at least 1 [no-history]\n"}},
		"a finding that the object silences, from a pipe": {
			replacer("metadata: {name: web}", `metadata: {name: web, annotations: {rollouts.argoproj.io/lint-ignore: "no-history -- tried out"}}`)(good) + "  revisionHistoryLimit: 0\n",
			[]string{"-", "--strict"},
			result{err: "0 errors and 0 warnings in 1 object of 1 file, 1 silenced\n"},
		},
		"Helm says which template it rendered": {
			"---\n# Source: web/templates/rollout.yaml" + good + "  revisionHistoryLimit: 0\n---\n# Source: web/templates/account.yaml\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: web}\n",
			[]string{"-", "-o", "github"},
			result{err: "0 errors and 1 warning in 2 objects of 1 file\n", out: "::warning file=web/templates/rollout.yaml,title=Rollout web [no-history]::" +
				"spec.revisionHistoryLimit: with 0, no earlier version is kept and undo is impossible: set at least 1\n"},
		},
		"a pipe that nothing came through": {"\n", []string{"-"}, result{code: 1, err: "error: there is no object in the standard input: did the command before the pipe fail?\n"}},
		"no file":                          {"", nil, result{code: 1, err: "error: lint what? Give a file or a folder: sluice lint -f FILE\n"}},
		"no manifests":                     {"", []string{"-f", t.TempDir()}, result{code: 1}},
		"no such output":                   {"", []string{"-f", "-", "-o", "xml"}, result{code: 1, err: "error: --output \"xml\" is not one of github, json, sarif, text\n"}},
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
