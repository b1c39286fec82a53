package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	k8stesting "k8s.io/client-go/testing"
)

func TestStatusOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		status string
		want   result
	}{
		"healthy":     {promoted, result{out: "Healthy\n"}},
		"progressing": {midStep, result{out: "Progressing - more replicas need to be updated\n"}},
		"paused":      {paused, result{out: "Paused - CanaryPauseStep\n"}},
		"degraded":    {aborted, result{code: 1, out: "Degraded - RolloutAborted: no\n", err: "error: rollout 'web' is degraded: RolloutAborted: no\n"}},
		"not observed": {
			`{observedGeneration: "2", phase: Healthy}`,
			result{out: "Progressing - waiting for rollout spec update to be observed\n"},
		},
		"resumed": {`{phase: Paused, controllerPause: true}`, result{out: "Progressing - waiting for rollout to unpause\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, web("", tt.status))
			got := c.run(t.Context(), "status", "web", "--watch=false")
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(result{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// It goes on through every change until the end, and says each thing once.
func TestStatusWaits(t *testing.T) {
	for name, tt := range map[string]struct {
		then []string
		want result
	}{
		"healthy": {
			[]string{paused, paused, promoted},
			result{out: "Progressing - more replicas need to be updated\nPaused - CanaryPauseStep\nHealthy\n"},
		},
		"degraded": {[]string{aborted}, result{
			code: 1,
			out:  "Progressing - more replicas need to be updated\nDegraded - RolloutAborted: no\n",
			err:  "error: rollout 'web' is degraded: RolloutAborted: no\n",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, web("", midStep))
			changes := watch.NewFake()
			c.PrependWatchReactor("rollouts", func(k8stesting.Action) (bool, watch.Interface, error) { return true, changes, nil })
			go func() {
				for _, status := range tt.then {
					changes.Modify(newCluster(t, web("", status)).only(t))
				}
			}()
			got := c.run(t.Context(), "status", "web")
			// Changes that come faster than they are read may be passed over; the last one never is.
			if name == "healthy" && got.out == "Progressing - more replicas need to be updated\nHealthy\n" {
				return
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(result{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestStatusOfWhatIsDeleted(t *testing.T) {
	c := newCluster(t, web("", midStep))
	changes := watch.NewFake()
	c.PrependWatchReactor("rollouts", func(k8stesting.Action) (bool, watch.Interface, error) { return true, changes, nil })
	go changes.Delete(c.only(t))
	got := c.run(t.Context(), "status", "web")
	want := result{code: 1, out: "Progressing - more replicas need to be updated\n", err: "error: rollout 'web' has been deleted\n"}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func (c cluster) only(t *testing.T) *unstructured.Unstructured {
	u := get(t, c, "web")
	c.ClearActions()
	return u
}

func TestList(t *testing.T) {
	c := newCluster(t, web("", paused), rollout("api", "", fieldsOf(promoted)))
	got := c.run(t.Context(), "list", "rollouts")
	want := result{out: "NAME  STRATEGY  STATUS   STEP  SET-WEIGHT  READY  DESIRED  UP-TO-DATE  AVAILABLE\n" +
		"api   Canary    Healthy  4/4   100         0/0    2        0           0\n" +
		"web   Canary    Paused   1/4   10          0/0    2        0           0\n"}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := newCluster(t).run(t.Context(), "list", "rollouts"); got.code != 0 || got.out != "" || got.err != "No rollouts found in namespace 'shop'.\n" {
		t.Errorf("empty namespace: %+v", got)
	}
}

func TestGet(t *testing.T) {
	c := newCluster(t, web("", paused), replicaSet("a", 1), replicaSet("b", 2))
	got := c.run(t.Context(), "get", "ro", "web")
	if got.code != 0 || len(got.out) == 0 {
		t.Fatalf("%+v", got)
	}
	// What it shows is for package view to test; what it reads decides which rights a user needs.
	var reads []string
	for _, a := range c.Actions() {
		reads = append(reads, a.GetVerb()+" "+a.GetResource().Resource)
	}
	if diff := cmp.Diff([]string{"get rollouts", "list replicasets", "list pods", "list analysisruns", "list experiments"}, reads); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
}
