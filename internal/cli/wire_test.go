package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	k8stesting "k8s.io/client-go/testing"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/cli/live"
)

// What each command writes is wire format.
func TestWrites(t *testing.T) {
	type test struct {
		given []string // manifests
		args  []string
		want  []string // writes
		out   string
	}
	const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web-deployment}
spec: {template: {spec: {containers: [{name: nginx, image: "nginx:1"}]}}}`
	tests := map[string]test{
		"promote: a pause is removed": {
			given: []string{web("", paused)}, args: []string{"promote", "web"},
			want: []string{`merge rollouts/status web {"status":{"pauseConditions":null}}`},
			out:  "rollout 'web' promoted\n",
		},
		"promote: a step that is being done counts as done": {
			given: []string{web("", midStep)}, args: []string{"promote", "web"},
			want: []string{`merge rollouts/status web {"status":{"currentStepIndex":3,"pauseConditions":null}}`},
			out:  "rollout 'web' promoted\n",
		},
		"promote: past an analysis that cannot tell": {
			given: []string{web("", undecided)}, args: []string{"promote", "web"},
			want: []string{`merge rollouts/status web {"status":{"controllerPause":false,"currentStepIndex":1,"pauseConditions":null}}`},
			out:  "rollout 'web' promoted\n",
		},
		"promote: the status first, then the user's own pause": {
			given: []string{web("  paused: true", paused)}, args: []string{"promote", "web"},
			want: []string{
				`merge rollouts/status web {"status":{"pauseConditions":null}}`,
				`merge rollouts web {"spec":{"paused":false}}`,
			},
			out: "rollout 'web' promoted\n",
		},
		"promote: nothing to do": {
			given: []string{web("", promoted)}, args: []string{"promote", "web"},
			out: "rollout 'web' has nothing left to promote\n",
		},
		"promote --full": {
			given: []string{web("", paused)}, args: []string{"promote", "web", "--full"},
			want: []string{`merge rollouts/status web {"status":{"promoteFull":true}}`},
			out:  "rollout 'web' fully promoted\n",
		},
		"promote --full: not when the version is stable": {
			given: []string{web("", promoted)}, args: []string{"promote", "web", "--full"},
			out: "rollout 'web' has nothing left to promote\n",
		},
		"promote --full: the user's own pause ends, too": {
			given: []string{web("  paused: true", paused)}, args: []string{"promote", "web", "--full"},
			want: []string{
				`merge rollouts/status web {"status":{"promoteFull":true}}`,
				`merge rollouts web {"spec":{"paused":false}}`,
			},
			out: "rollout 'web' fully promoted\n",
		},
		"promote -c": {
			given: []string{web("", paused)}, args: []string{"promote", "web", "-c"},
			want: []string{`merge rollouts/status web {"status":{"currentStepIndex":2,"pauseConditions":null}}`},
			out:  "rollout 'web' promoted\n",
		},
		"promote -a": {
			given: []string{web("", paused)}, args: []string{"promote", "web", "-a"},
			want: []string{`merge rollouts/status web {"status":{"currentStepIndex":4,"pauseConditions":null}}`},
			out:  "rollout 'web' promoted\n",
		},
		"abort, several": {
			given: []string{web("", midStep), rollout("api", "", fieldsOf(midStep))}, args: []string{"abort", "web", "api"},
			want: []string{
				`merge rollouts/status web {"status":{"abort":true}}`,
				`merge rollouts/status api {"status":{"abort":true}}`,
			},
			out: "rollout 'web' aborted\nrollout 'api' aborted\n",
		},
		"abort: nothing to abort": {
			given: []string{web("", promoted), rollout("api", "", fieldsOf(aborted))}, args: []string{"abort", "web", "api"},
			out: "rollout 'web' has no update to abort\nrollout 'api' is aborted already\n",
		},
		"retry: nothing to retry": {
			given: []string{web("", midStep)}, args: []string{"retry", "rollout", "web"},
			out: "rollout 'web' is not aborted: there is nothing to retry\n",
		},
		"retry": {
			given: []string{web("", aborted)}, args: []string{"retry", "rollout", "web"},
			want: []string{`merge rollouts/status web {"status":{"abort":false}}`},
			out:  "rollout 'web' retried\n",
		},
		"pause": {
			given: []string{web("", midStep)}, args: []string{"pause", "web"},
			want: []string{`merge rollouts web {"spec":{"paused":true}}`},
			out:  "rollout 'web' paused\n",
		},
		"set image": {
			given: []string{web("", promoted)}, args: []string{"set", "image", "web", "nginx=nginx:2", "migrate=migrate:2"},
			want: []string{"update rollouts web"},
			out:  "rollout \"web\" image updated\n",
		},
		"set image: the same again": {
			given: []string{web("", promoted)}, args: []string{"set", "image", "web", "nginx=nginx:1"},
			out: "rollout \"web\" has these images already\n",
		},
		"set image of what workloadRef names": {
			given: []string{web("  workloadRef: {kind: Deployment, name: web-deployment}", promoted), deployment},
			args:  []string{"set", "image", "web", "*=nginx:2"},
			want:  []string{"update deployments web-deployment"},
			out:   "rollout \"web\" image updated\n",
		},
		"undo": {
			given: []string{web("", promoted), replicaSet("a", 1), replicaSet("b", 2)}, args: []string{"undo", "web"},
			want: []string{`json rollouts web [{"op":"replace","path":"/spec/template","value":{"metadata":{"labels":{"app":"web"}},` +
				`"spec":{"containers":[{"name":"nginx","image":"nginx:a","resources":{}}]}}}]`},
			out: "rollout 'web' undone to revision 1\n",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, tt.given...)
			r := c.run(t.Context(), tt.args...)
			if r.code != 0 {
				t.Fatalf("exit code %d: %s", r.code, r.err)
			}
			if diff := cmp.Diff(tt.want, c.writes()); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.out, r.out); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}

func replicaSet(hash string, revision int) string {
	text := `
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-HASH
  labels: {app: web, rollouts-pod-template-hash: HASH}
  annotations:
    rollout.argoproj.io/revision: "REVISION"
    rollout.argoproj.io/ephemeral-metadata: '{"labels":{"role":"canary"}}'
  ownerReferences: [{apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: web, uid: ro, controller: true}]
spec:
  template:
    metadata: {labels: {app: web, role: canary, rollouts-pod-template-hash: HASH}}
    spec: {containers: [{name: nginx, image: "nginx:HASH"}]}`
	return replacer("HASH", hash, "REVISION", string(rune('0'+revision)))(text)
}

// Everything that set image does not mean to change is written back as it was, known to this program or not.
func TestSetImageKeepsTheRest(t *testing.T) {
	c := newCluster(t, web("", promoted))
	before := get(t, c, "web")
	c.run(t.Context(), "set", "image", "web", "*=new:1", "nginx=nginx:2")
	want := before.DeepCopy()
	for list, images := range map[string][]string{"initContainers": {"new:1"}, "containers": {"nginx:2", "new:1"}} {
		containers, _, _ := unstructured.NestedSlice(want.Object, "spec", "template", "spec", list)
		for i, image := range images {
			containers[i].(map[string]any)["image"] = image
		}
		if err := unstructured.SetNestedSlice(want.Object, containers, "spec", "template", "spec", list); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want.Object, get(t, c, "web").Object); diff != "" {
		t.Errorf("rollout (-want +got):\n%s", diff)
	}
}

func get(t *testing.T, c cluster, name string) *unstructured.Unstructured {
	t.Helper()
	u, err := live.Client{Interface: c, Namespace: "shop"}.Rollouts().Get(t.Context(), name, getOptions)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// The controller writes to the same object all the time.
func TestSetImageTriesAgainAfterAConflict(t *testing.T) {
	for name, tt := range map[string]struct{ conflicts, updates, code int }{
		"four conflicts": {conflicts: 4, updates: 5, code: 0},
		"without end":    {conflicts: 100, updates: 5, code: 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, web("", promoted))
			left := tt.conflicts
			c.PrependReactor("update", "rollouts", func(k8stesting.Action) (bool, runtime.Object, error) {
				left--
				return left >= 0, nil, apierrors.NewConflict(v1alpha1.Resource("rollouts"), "web", nil)
			})
			if r := c.run(t.Context(), "set", "image", "web", "nginx=nginx:2"); r.code != tt.code {
				t.Errorf("exit code %d, want %d: %s", r.code, tt.code, r.err)
			}
			if n := len(c.writes()); n != tt.updates {
				t.Errorf("%d tries, want %d", n, tt.updates)
			}
		})
	}
}

// A CRD without the status subresource, as there once was: the whole patch goes to the object.
func TestStatusWithoutSubresource(t *testing.T) {
	c := newCluster(t, web("  paused: true", paused))
	c.PrependReactor("patch", "rollouts", func(a k8stesting.Action) (bool, runtime.Object, error) {
		return a.GetSubresource() == "status", nil, noSuchPage("rollouts", "web")
	})
	r := c.run(t.Context(), "promote", "web")
	want := []string{
		`merge rollouts/status web {"status":{"pauseConditions":null}}`,
		`merge rollouts web {"spec":{"paused":false},"status":{"pauseConditions":null}}`,
	}
	if diff := cmp.Diff(want, c.writes()); diff != "" || r.code != 0 {
		t.Errorf("exit code %d: %s; writes (-want +got):\n%s", r.code, r.err, diff)
	}
}
