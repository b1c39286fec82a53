package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/watch"
	k8stesting "k8s.io/client-go/testing"
)

func TestC47Wait(t *testing.T) {
	const unobserved = `{observedGeneration: "2", currentStepIndex: 4, phase: Healthy, currentPodHash: a, stableRS: a}`
	for name, tt := range map[string]struct {
		begin string
		then  []string
		args  []string
		want  result
	}{
		"healthy":                     {midStep, []string{paused, promoted}, []string{"--for=healthy"}, result{out: "rollout 'web' is healthy\n"}},
		"whatever comes first":        {midStep, []string{paused}, []string{"--for=healthy,paused"}, result{out: "rollout 'web' is paused\n"}},
		"degraded":                    {midStep, []string{aborted}, []string{"--for", "degraded"}, result{out: "rollout 'web' is degraded\n"}},
		"a step that is reached":      {midStep, nil, []string{"--for=step=2"}, result{out: "rollout 'web' has completed 2 steps\n"}},
		"a step ahead":                {midStep, []string{promoted}, []string{"--for=step=3"}, result{out: "rollout 'web' has completed 3 steps\n"}},
		"what is over is not counted": {unobserved, []string{paused}, []string{"--for=step=1"}, result{out: "rollout 'web' has completed 1 step\n"}},
		"nor as healthy":              {unobserved, []string{paused}, []string{"--for=paused", "--for=healthy"}, result{out: "rollout 'web' is paused\n"}},
		"all the traffic":             {midStep, []string{promoted}, []string{"--for=weight=100"}, result{out: "rollout 'web' has weight 100\n"}},
		"degraded in between": {
			midStep,
			[]string{aborted},
			[]string{"--for=healthy"},
			result{code: 1, err: "error: rollout 'web' is degraded: RolloutAborted: no\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, web("", tt.begin))
			changes := watch.NewFake()
			c.PrependWatchReactor("rollouts", func(k8stesting.Action) (bool, watch.Interface, error) { return true, changes, nil })
			go func() {
				for _, status := range tt.then {
					changes.Modify(newCluster(t, web("", status)).first(t))
				}
			}()
			got := c.run(t.Context(), append([]string{"wait", "web"}, tt.args...)...)
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(result{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrorsOfWait(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"for nothing":     {[]string{"web"}, "wait for what? Use --for with one of healthy, paused, degraded, step=, weight="},
		"for what is not": {[]string{"web", "--for=promoted"}, `--for "promoted" is not one of healthy, paused, degraded, step=, weight=`},
		"no number":       {[]string{"web", "--for=step=two"}, `--for "step=two": "two" is not a number`},
		"not in time":     {[]string{"web", "--for=healthy,step=4", "--timeout=1ns"}, "rollout 'web' did not come to healthy or step=4 in 1ns: "},
		"no such rollout": {[]string{"wbe", "--for=healthy"}, "there is no rollout 'wbe' in namespace 'shop'; did you mean 'web'?"},
	} {
		t.Run(name, func(t *testing.T) {
			expectError(t, newCluster(t, web("", midStep)).run(t.Context(), append([]string{"wait"}, tt.args...)...), tt.want)
		})
	}
}

func TestHistory(t *testing.T) {
	again := replacer(`revision: "3"`, "revision: \"3\"\n    rollout.argoproj.io/revision-history: \"1\"")(replicaSet("b", 3))
	c := newCluster(t, web("", midStep), replicaSet("a", 2), again)
	got := c.run(t.Context(), "history", "web")
	want := result{out: "REVISION   REPLICASET  ROLE    PODS  AGE  IMAGES\n" +
		"3 (was 1)  web-b       canary  0/1   0s   nginx:b\n" +
		"2          web-a       stable  0/1   0s   nginx:a\n"}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = c.run(t.Context(), "history", "web", "--limit", "1", "-o", "json")
	want = result{out: `[
    {
        "revision": 3,
        "earlierRevisions": "1",
        "replicaSet": "web-b",
        "podTemplateHash": "b",
        "roles": [
            "canary"
        ],
        "availableReplicas": 0,
        "replicas": 1,
        "images": [
            "nginx:b"
        ],
        "age": "0s"
    }
]
`}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = c.run(t.Context(), "history", "web", "--revision", "2")
	want = result{out: "metadata:\n  labels:\n    app: web\nspec:\n  containers:\n  - image: nginx:a\n    name: nginx\n    resources: {}\n"}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	expectError(t, c.run(t.Context(), "history", "web", "--revision", "7"), "rollout 'web' has no revision 7; it has 3, 2")
}

func TestDiff(t *testing.T) {
	c := newCluster(t, web("", midStep), replicaSet("a", 1), replicaSet("b", 2))
	got := c.run(t.Context(), "diff", "web", "--to-revision", "2")
	want := result{out: `--- revision 1 (stable)
+++ revision 2
@@ -3,6 +3,6 @@
     app: web
 spec:
   containers:
-  - image: nginx:a
+  - image: nginx:b
     name: nginx
     resources: {}
`}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = c.run(t.Context(), "diff", "web", "--from-revision", "1", "--to-revision", "1")
	if want := (result{err: "revision 1 and revision 1 have the same pod template.\n"}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	expectError(t, newCluster(t, web("", midStep)).run(t.Context(), "diff", "web"), "rollout 'web' has no stable version yet, with which another one could be compared")
}

// Undo says what it will do, and with --dry-run it does no more.
func TestUndoTells(t *testing.T) {
	c := newCluster(t, web("", midStep), replicaSet("a", 1), replicaSet("b", 2))
	for _, tt := range []struct{ revision, want string }{
		{"1", "Rollout 'web' returns to revision 1: nginx from nginx:1 to nginx:a. This is the stable version, so it takes over again immediately.\n"},
		{"2", "Rollout 'web' returns to revision 2: nginx from nginx:1 to nginx:b. This starts an update at the first step.\n"},
	} {
		got := c.run(t.Context(), "undo", "web", "--dry-run", "--to-revision", tt.revision)
		want := result{out: "rollout 'web' would be undone to revision " + tt.revision + " (dry run)\n", err: tt.want}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if writes := c.writes(); len(writes) > 0 {
		t.Errorf("a dry run has written: %s", writes)
	}
}
