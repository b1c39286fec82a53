package controller_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/sluice-delivery/sluice/internal/playtest"
)

// get asks the controller until it answers as wanted.
func get(ns *playtest.Namespace, port int, path, what string, wanted func(status int, body string) bool) {
	url := fmt.Sprintf("http://127.0.0.1:%d%s", port, path)
	ns.WaitUntil(what, func() error {
		response, err := http.Get(url)
		if err != nil {
			return err
		}
		defer response.Body.Close() //nolint:errcheck // it was only read
		body, err := io.ReadAll(response.Body)
		if err == nil && !wanted(response.StatusCode, string(body)) {
			err = fmt.Errorf("%s: %s", response.Status, body[:min(len(body), 4000)])
		}
		return err
	})
}

// Dashboards and alerts that were written for the Argo Rollouts controller find their metrics.
func TestMetrics(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	port := ns.FreePort()
	ns.StartController("--metrics-port", fmt.Sprint(port))
	ns.CreateRollout(canary(1, `{steps: [{setWeight: 50}, {pause: {}}]}`))
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to pause", playtest.AtStep(1))

	of := fmt.Sprintf(`name="web",namespace="%s"`, ns.Name)
	wanted := []string{
		`rollout_info{` + of + `,phase="Paused",strategy="canary",traffic_router=""} 1`,
		`rollout_phase{` + of + `,phase="Paused",strategy="canary"} 1`,
		`rollout_phase{` + of + `,phase="Completed",strategy="canary"} 0`,
		`rollout_info_replicas_desired{` + of + `} 1`,
		`rollout_info_replicas_updated{` + of + `} 1`,
		`rollout_info_replicas_available{` + of + `} `,
		`rollout_info_replicas_unavailable{` + of + `} `,
		`rollout_events_total{` + of + `,reason="RolloutPaused",type="Normal"} 1`,
		`rollout_reconcile_bucket{name="",namespace="",le="1"} `,
		`controller_clientset_k8s_request_total{kind="replicasets",name="",namespace="",status_code="201",verb="Create"} 2`,
		`sluice_rollouts_waiting{reason="CanaryPauseStep"} 1`,
		`sluice_reaction_seconds_count{kind="rollout"} `,
		`argo_rollouts_controller_info{`,
		`build_info{`,
		`workqueue_depth{`,
		`process_resident_memory_bytes `,
	}
	get(ns, port, "/metrics", "all metrics are there", func(_ int, body string) bool {
		for _, line := range wanted {
			if !strings.Contains(body, "\n"+line) {
				t.Logf("not there: %s", line)
				return false
			}
		}
		return true
	})

	ns.DeleteRollout("web")
	get(ns, port, "/metrics", "nothing is left of a Rollout that is gone", func(_ int, body string) bool {
		return !strings.Contains(body, of)
	})
}

// Ready is who has filled caches and knows who leads; a standby is, so that a Deployment with two replicas becomes available. When
// the leader stops the standby goes on.
func TestProbesAndHandOver(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	first, second := ns.FreePort(), ns.FreePort()
	ns.StartController("--leader-elect", "--instance-id", ns.Name, "--healthz-port", fmt.Sprint(first))
	ok := func(status int, _ string) bool { return status == http.StatusOK }
	get(ns, first, "/readyz", "the leader is ready", ok)
	ns.StartController("--leader-elect", "--instance-id", ns.Name, "--healthz-port", fmt.Sprint(second))
	get(ns, second, "/readyz", "the standby is ready", ok)
	get(ns, second, "/healthz", "the standby is alive", ok)
	ns.StopController(syscall.SIGTERM)
	ns.CreateRollout(strings.Replace(canary(1, `{}`), "{name: web}", `{name: web, labels: {argo-rollouts.argoproj.io/controller-instance-id: `+ns.Name+`}}`, 1))
	ns.WaitForRollout("web", "to be Healthy by the standby's work", playtest.Healthy)
}
