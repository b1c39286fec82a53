package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/internal/playtest"
)

// sluice runs the command line with a kubeconfig.
func sluice(t *testing.T, kubeconfig string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), playtest.Program("sluice"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// The commands that people know from the plugin, by the name that they know: on a live Rollout, whose subscriptions are tried without sending
// anything, and on an update that is only simulated.
func TestTheCommandLine(t *testing.T) {
	ns := playtest.New(t)
	configure(t, ns, "argo-rollouts", map[string]string{
		"service.slack":             "token: $slack-token",
		"template.paused":           "message: '{{.rollout.metadata.name}} waits at {{.rollout.status.currentStepIndex}}'\nslack: {icon: ':zzz:'}",
		"trigger.on-rollout-paused": "- send: [paused]",
		"trigger.on-paused":         "- when: rollout.status.phase == 'Paused' && rollout.status.currentStepIndex == 1\n  send: [paused]",
		"trigger.on-healthy":        "- when: rollout.status.phase == 'Healthy'\n  send: [paused]",
	}, map[string]string{"slack-token": "xoxb-1"})
	ns.StartController()
	manifest := subscribed(
		`notifications.argoproj.io/subscribe.on-rollout-paused.slack: events`, `notifications.argoproj.io/subscribe.on-paused.slack: states`,
		`notifications.argoproj.io/subscribe.on-healthy.slack: states`,
	)
	ns.CreateRollout(manifest)
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to pause", playtest.Paused)
	kubeconfig := ns.Kubeconfig
	for name, c := range map[string]struct {
		args []string
		want []string
		fail bool
	}{
		"templates": {args: []string{"notifications", "template", "get", "-o", "name"}, want: []string{"paused\n"}},
		"a trigger": {args: []string{"notifications", "trigger", "run", "on-paused", "web"}, want: []string{"== 1  true"}},
		"what would be sent": {args: []string{"notifications", "send", "web", "--dry-run"}, want: []string{
			"# on-rollout-paused to slack:events, for the event RolloutPaused\nmessage: web waits at 1\nslack:\n",
			"# on-paused to slack:states\nmessage: web waits at 1\n",
			"# on-healthy to slack:states: not sent: when \"rollout.status.phase == 'Healthy'\" is false\n",
		}},
		"lint":                 {args: []string{"notifications", "lint"}},
		"no such subscription": {args: []string{"notifications", "send", "web", "--dry-run", "--trigger", "x"}, fail: true, want: []string{"notifications.argoproj.io/subscribe.TRIGGER.SERVICE"}},
		"help":                 {args: []string{"notifications", "--help"}, want: []string{"sluice notifications [command]"}},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := sluice(t, kubeconfig, append([]string{"-n", ns.Name}, c.args...)...)
			if (err != nil) != c.fail {
				t.Errorf("%v\n%s", err, out)
			}
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("not in the output: %q\n%s", want, out)
				}
			}
		})
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "rollout.yaml")
	config := filepath.Join(dir, "configmap.yaml")
	for name, content := range map[string]string{file: manifest, config: "data:\n" +
		"  service.slack: 'token: x'\n  template.t: \"message: '{{.rollout.status.phase}} {{range .diff}}{{.from}} to {{.to}}{{end}}'\"\n" +
		"  trigger.on-rollout-paused: '[{send: [t]}]'\n  trigger.on-healthy: \"[{when: rollout.status.phase == 'Healthy', send: [t]}]\"\n"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := sluice(t, "", "simulate", "-f", file, "--image", "web=nginx:2", "--notifications", config)
	for _, want := range []string{
		"on-rollout-paused to slack:events\n          Paused nginx:1 to nginx:2\n", "on-healthy to slack:states\n          Healthy\n",
	} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%v: not in the output: %q\n%s", err, want, out)
		}
	}
}
