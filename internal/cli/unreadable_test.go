package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	invalidMemory = "resources: {requests: {memory: invalid}}, "
	memoryProblem = `spec.template.spec.containers[0].resources.requests.memory: "invalid" is not a quantity: write a number with or without a suffix, such as 500m, 2 or 1Gi`
)

// withInvalidMemory is a manifest whose first container asks for a quantity that is none.
func withInvalidMemory(t *testing.T, manifest string) string {
	t.Helper()
	broken := strings.Replace(manifest, "containers: [{name: nginx, ", "containers: [{name: nginx, "+invalidMemory, 1)
	if broken == manifest {
		t.Fatal("the manifest has another container")
	}
	return broken
}

// A list shows what is well, and names what cannot be read.
func TestListNamesWhatCannotBeRead(t *testing.T) {
	c := newCluster(t, web("", paused), withInvalidMemory(t, rollout("api", "", fieldsOf(promoted))))
	got := c.run(t.Context(), "list", "rollouts")
	want := result{
		out: "NAME  STRATEGY  STATUS    STEP  SET-WEIGHT  READY  DESIRED  UP-TO-DATE  AVAILABLE\n" +
			"api   Canary    Degraded  4/4   100         0/0    2        0           0\n" +
			"web   Canary    Paused    1/4   10          0/0    2        0           0\n",
		err: "rollout 'api' cannot be read entirely: " + memoryProblem + "\n",
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The picture of a Rollout that cannot be read says which field that is, whatever its status says.
func TestGetSaysWhatCannotBeRead(t *testing.T) {
	c := newCluster(t, withInvalidMemory(t, web("", promoted)), replicaSet("a", 1), replicaSet("b", 2))
	for _, command := range [][]string{{"get", "rollout", "web"}, {"status", "web", "--watch=false"}, {"explain", "web"}} {
		got := c.run(t.Context(), command...)
		if said := strings.Join(strings.Fields(got.out+got.err), " "); !strings.Contains(said, "spec.template.spec.containers[0].resources.requests.memory") {
			t.Errorf("%v: exit %d: %s%s", command, got.code, got.out, got.err)
		}
	}
}

// A simulation goes by the Rollout that is meant, whatever is wrong with others in the files.
func TestSimulateBesideWhatCannotBeRead(t *testing.T) {
	text, err := os.ReadFile("testdata/simulate/canary.yaml")
	if err != nil {
		t.Fatal(err)
	}
	neighbors := filepath.Join(t.TempDir(), "neighbors.yaml")
	broken := withInvalidMemory(t, rollout("api", "", fieldsOf(promoted))) + `
---
apiVersion: argoproj.io/v1alpha1
kind: AnalysisTemplate
metadata: {name: unused}
spec: {metrics: [{name: a, count: {}}]}
`
	if err := os.WriteFile(neighbors, []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := simulated(t, string(text), "web", "-f", "-", "-f", neighbors); r.code != 0 || !strings.Contains(r.out, "Result:          promoted") {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
	if r := simulated(t, string(text), "api", "-f", "-", "-f", neighbors); r.code != 1 || !strings.Contains(r.err, memoryProblem) {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
}
