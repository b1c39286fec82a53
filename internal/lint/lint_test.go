package lint_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/internal/lint"
	"github.com/sluice-delivery/sluice/internal/manifests"
)

var update = flag.Bool("update", false, "rewrite the findings in testdata")

// The findings of testdata/x.yaml are in testdata/x.txt.
func TestFindings(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for _, f := range look(t, filepath.Base(file), text).Findings {
				got.WriteString(f.String() + "\n")
			}
			golden := strings.TrimSuffix(file, ".yaml") + ".txt"
			if *update {
				if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("(-want +got):\n%s\nRun the test with -update if this is how it should be.", diff)
			}
		})
	}
}

func look(t *testing.T, name string, text []byte) lint.Result {
	t.Helper()
	result, err := lint.Files(t.Context(), []lint.File{{Name: name, Text: text}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// What the API server refuses is found, where it is; the manifests say themselves what that is.
func TestBadManifests(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(manifests.Root(), "api/v1alpha1/testdata/bad/*.yaml"))
	if err != nil || len(files) < 60 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			findings := look(t, "bad.yaml", text).Findings
			for line := range strings.Lines(string(text)) {
				wanted, ok := strings.CutPrefix(line, "# want: ")
				if !ok {
					continue
				}
				path, _, _ := strings.Cut(wanted, ": ")
				if !found(findings, path) {
					t.Errorf("no error at %s, among:\n%v", path, findings)
				}
			}
		})
	}
}

func found(findings []lint.Finding, path string) bool {
	for _, f := range findings {
		near := strings.HasPrefix(f.Field, path) || f.Field != "" && strings.HasPrefix(path, f.Field)
		if f.Severity == lint.Error && near && f.Line > 1 {
			return true
		}
	}
	return false
}

// The examples for users are right, by themselves and together.
func TestExamples(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(manifests.Root(), "examples/*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d files: %v", len(paths), err)
	}
	var files []lint.File
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, lint.File{Name: filepath.Base(path), Text: text})
	}
	result, err := lint.Files(t.Context(), files, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range result.Findings {
		if f.Severity == lint.Error {
			t.Error(f)
		}
	}
	if result.Objects < len(files) {
		t.Errorf("%d objects in %d files", result.Objects, len(files))
	}
}

// Whatever a file is, looking at it ends with findings, not with a panic.
func FuzzFiles(f *testing.F) {
	for _, seed := range []string{
		"", "---\n---\n", "a: &a [*a]\n", "kind: List\nitems: [1, null, {}]\n", "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\n",
		"apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nspec: 5\n", "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: []\nspec: {strategy: {canary: {steps: [null, {pause: null}]}}}\n",
		"apiVersion: argoproj.io/v1alpha1\nkind: AnalysisTemplate\nmetadata: {name: a}\nspec: {metrics: [null], templates: [{templateName: a}]}\n",
		"? [a, b]\n: c\n", "\ufeffa: 1\r\n---\r\nb: 2\r\n", "!!binary x: y\n", "a: !!int x\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, finding := range look(t, "f.yaml", text).Findings {
			if finding.Line < 1 || finding.Message == "" {
				t.Errorf("%+v", finding)
			}
		}
	})
}

// The ConfigMap of notifications is checked by another program; what it finds is at the lines of the entries, and can be silenced.
func TestNotifications(t *testing.T) {
	const text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: argo-rollouts-notification-configmap\ndata:\n  template.a: |\n    message: x\n  trigger.on-late: |\n    - send: [b]\n"
	check := func(_ context.Context, m *corev1.ConfigMap) ([]lint.Wrong, error) {
		if m.Data["trigger.on-late"] != "- send: [b]\n" {
			t.Errorf("it gets %v", m.Data)
		}
		return []lint.Wrong{{Key: "trigger.on-late", Message: "no template b"}}, nil
	}
	files := []lint.File{{Name: "n.yaml", Text: []byte(text + "---\n" + strings.Replace(text, "notification-configmap", "config", 1))}}
	result, err := lint.Files(t.Context(), files, check)
	if err != nil || len(result.Findings) == 0 {
		t.Fatal(err, result)
	}
	want := "n.yaml:8: error: ConfigMap argo-rollouts-notification-configmap: data.trigger.on-late: no template b [invalid-notification]"
	if got := result.Findings[0].String(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	failing := func(context.Context, *corev1.ConfigMap) ([]lint.Wrong, error) { return nil, errors.New("it crashed") }
	if _, err := lint.Files(t.Context(), files, failing); err == nil {
		t.Error("no error though nothing was checked")
	}
}
