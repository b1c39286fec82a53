package config_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

// What a release is built with and from is pinned: images by digest, actions by commit.
func TestWhatBuildsAReleaseIsPinned(t *testing.T) {
	workflows, err := filepath.Glob("../.github/workflows/*.yaml")
	if err != nil || len(workflows) == 0 {
		t.Fatalf("no workflows: %v", err)
	}
	digest, commit := regexp.MustCompile(`@sha256:[0-9a-f]{64}( |$)`), regexp.MustCompile(`@[0-9a-f]{40} # v\d`)
	for _, file := range append(workflows, "../Dockerfile", "../Dockerfile.dashboard") {
		text := contents(t, file)
		for n, line := range strings.Split(text, "\n") {
			switch line := strings.TrimSpace(line); {
			case strings.HasPrefix(line, "FROM ") && !digest.MatchString(line):
				t.Errorf("%s:%d: an image without a digest: %s", file, n+1, line)
			case strings.Contains(line, "uses:") && !commit.MatchString(line):
				t.Errorf("%s:%d: an action without a commit and its version: %s", file, n+1, line)
			}
		}
	}
}

// The image that is installed is a version, and the same one by kustomize and by the chart.
func TestTheInstalledImageIsAVersion(t *testing.T) {
	image := regexp.MustCompile(`(?m)image: \S+/sluice-controller:(v\d+\.\d+\.\d+\S*)$`).FindStringSubmatch(contents(t, "install/controller.yaml"))
	if image == nil {
		t.Fatal("install/controller.yaml has no image with a version")
	}
	if dashboard := contents(t, "dashboard/dashboard.yaml"); !strings.Contains(dashboard, "/sluice-dashboard:"+image[1]+"\n") {
		t.Errorf("the dashboard is of another version than %s", image[1])
	}
	if chart := contents(t, "../charts/sluice/Chart.yaml"); !strings.Contains(chart, "\nappVersion: "+image[1]+"\n") {
		t.Errorf("the manifests install %s, the chart does not:\n%s", image[1], chart)
	}
}

// The chart's NetworkPolicy says what that of the manifests says.
func TestTheNetworkPolicyIsTheSameEverywhere(t *testing.T) {
	after := func(text, word string) string {
		_, rest, found := strings.Cut(text, word)
		if !found {
			t.Errorf("no %q", word)
		}
		return strings.TrimSuffix(strings.TrimSpace(rest), "\n{{- end }}")
	}
	manifest, chart := contents(t, "install/networkpolicy.yaml"), contents(t, "../charts/sluice/templates/networkpolicy.yaml")
	if a, b := after(manifest, "policyTypes:"), after(chart, "policyTypes:"); a != b {
		t.Errorf("the manifests say\n%s\nand the chart\n%s", a, b)
	}
}

// The garbage collector works harder before the memory's limit is reached, in the manifests as in the chart.
func TestMemoryIsLimited(t *testing.T) {
	quantity := func(text, pattern string) int64 {
		found := regexp.MustCompile(pattern).FindStringSubmatch(text)
		if found == nil {
			t.Fatalf("no %s", pattern)
		}
		q, err := resource.ParseQuantity(strings.TrimSuffix(found[1], "B")) // Go writes MiB, Kubernetes Mi
		if err != nil {
			t.Fatal(err)
		}
		return q.Value()
	}
	manifest, values := contents(t, "install/controller.yaml"), contents(t, "../charts/sluice/values.yaml")
	limit, soft := quantity(manifest, `(?s)limits:\s+(?:\S+: \S+\s+)*?memory: (\S+)`), quantity(manifest, `name: GOMEMLIMIT\s+value: (\S+)`)
	if soft < limit*85/100 || soft > limit*95/100 {
		t.Errorf("the limit is %d bytes, and GOMEMLIMIT %d, not nine tenths of it", limit, soft)
	}
	if measured := quantity(contents(t, "../hack/bench/process.go"), `const memoryLimit = "(\S+)"`); measured != soft {
		t.Errorf("make bench measures with a GOMEMLIMIT of %d bytes, and the manifests have %d", measured, soft)
	}
	if l, s := quantity(values, `(?s)limits:\s+(?:\S+: \S+\s+)*?memory: (\S+)`), quantity(values, `goMemoryLimit: (\S+)`); l != limit || s != soft {
		t.Errorf("the manifests have %d and %d bytes, the chart %d and %d", limit, soft, l, s)
	}
}

func contents(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
