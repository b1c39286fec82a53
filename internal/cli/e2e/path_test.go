package e2e_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sluice-delivery/sluice/internal/playtest"
)

func TestMain(m *testing.M) { playtest.Main(m, playtest.WithGatewayAPI) }

const web = `
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: nginx, image: "nginx:1"}]
  strategy:
    canary: {steps: [{setWeight: 50}, {pause: {}}]}
`

// plugin is the program as kubectl calls it.
type plugin struct {
	t    *testing.T
	ns   *playtest.Namespace
	path string
}

func newPlugin(t *testing.T, ns *playtest.Namespace) plugin {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubectl-argo-rollouts")
	if err := os.Symlink(playtest.Program("sluice"), path); err != nil {
		t.Fatal(err)
	}
	return plugin{t: t, ns: ns, path: path}
}

func (p plugin) command(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, p.path, append(args, "--kubeconfig", p.ns.Kubeconfig, "-n", p.ns.Name)...)
}

// run runs a command that must end with this exit code, and returns what it wrote to stdout and stderr.
func (p plugin) run(code int, args ...string) (out, talk string) {
	p.t.Helper()
	cmd := p.command(p.t.Context(), args...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		p.t.Fatalf("%s: exit code %d, want %d\n%s%s", args, got, code, &stdout, &stderr)
	}
	return stdout.String(), stderr.String()
}

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in:\n%s", part, text)
		}
	}
}

func TestAnUpdate(t *testing.T) {
	ns := playtest.New(t)
	ns.StartController()
	p := newPlugin(t, ns)
	ns.CreateRollout(web)
	const atMost = "90s"

	out, _ := p.run(0, "status", "web", "--timeout", atMost)
	if !strings.HasSuffix(out, "Healthy\n") {
		t.Errorf("status: %s", out)
	}

	// A user watches it from here on.
	watched := p.command(t.Context(), "get", "rollout", "web", "-w")
	stdout, err := watched.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := watched.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)

	p.run(0, "set", "image", "web", "nginx=nginx:2")
	ns.WaitForRollout("web", "to pause", playtest.Paused)
	out, _ = p.run(0, "get", "rollout", "web")
	contains(t, out, "Status:          ॥ Paused", "  Step:          1/2", "  SetWeight:     50", "  ActualWeight:  50",
		"nginx:1 (stable)", "nginx:2 (canary)", "until someone promotes", "ready:1/1")
	out, _ = p.run(0, "list", "rollouts")
	contains(t, out, "web   Canary    Paused  1/2   50")

	p.run(0, "promote", "web")
	p.run(0, "status", "web", "--timeout", atMost)

	// A version that cannot run is given up, tried again, and replaced by the one before.
	p.run(0, "set", "image", "web", "nginx=nginx:bad")
	for lines.Scan() && !strings.Contains(lines.Text(), "ImagePullBackOff") {
	}
	p.run(0, "abort", "web")
	_, talk := p.run(1, "status", "web", "--timeout", atMost)
	contains(t, talk, "error: rollout 'web' is degraded: RolloutAborted")
	p.run(0, "retry", "rollout", "web")
	p.run(0, "undo", "web")
	p.run(0, "status", "web", "--timeout", atMost)
	out, _ = p.run(0, "get", "rollout", "web")
	contains(t, out, "✔ Healthy", "nginx:2 (stable)")

	// Ctrl-C ends a watch at once.
	if err := watched.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
	}
	_ = watched.Wait() // its exit code is what is asked for
	if code := watched.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d after Ctrl-C", code)
	}
}

func TestWhatDoesNotExist(t *testing.T) {
	ns := playtest.New(t)
	p := newPlugin(t, ns)
	ns.CreateRollout(web)
	out, talk := p.run(1, "promote", "wbe")
	if want := "error: there is no rollout 'wbe' in namespace '" + ns.Name + "'; did you mean 'web'?\n"; talk != want || out != "" {
		t.Errorf("stdout %q, stderr %q, want %q", out, talk, want)
	}
	_, talk = p.run(1, "set", "image", "web", "ngnix=nginx:2")
	contains(t, talk, "error: rollout 'web' has no container 'ngnix'; it has nginx. Nothing was changed\n")
	if _, talk = p.run(1, "abort", "web", "--as", "nobody"); !strings.HasPrefix(talk, "error: ") || strings.Count(talk, "\n") != 1 {
		t.Errorf("without the right: %q", talk)
	}
	completion := exec.CommandContext(t.Context(), p.path, "__complete", "abort", "--kubeconfig", ns.Kubeconfig, "-n", ns.Name, "w")
	if out, err := completion.Output(); err != nil || !strings.HasPrefix(string(out), "web\n") {
		t.Errorf("completion: %q, %v", out, err)
	}
}
