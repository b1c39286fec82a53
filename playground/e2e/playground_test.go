package e2e

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// patience bounds every wait. It is far more than anything takes, for machines that build something at the same time.
const patience = 2 * time.Minute

// program runs the binary under test with these arguments when it is started.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path := os.Getenv("SLUICE_PLAYGROUND")
	if path == "" {
		path = filepath.Join("..", "..", "bin", "sluice-playground")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: build it with `make bin/sluice-playground`", err)
	}
	return exec.Command(path, args...)
}

// playground is a running `sluice-playground up`.
type playground struct {
	kubeconfig string
	config     *rest.Config
	client     kubernetes.Interface

	process *exec.Cmd
	stdout  *bufio.Reader
	stderr  bytes.Buffer
	stopped bool
}

// up starts a playground and waits until it says that it is ready. It is stopped when the test ends, if not before.
func up(t *testing.T, args ...string) *playground {
	t.Helper()
	p := launch(t, append([]string{"up"}, args...)...)
	hurry := time.AfterFunc(patience, func() { _ = p.process.Process.Kill() })
	line, err := p.stdout.ReadString('\n')
	hurry.Stop()
	if err != nil {
		p.stop(t, syscall.SIGKILL)
		t.Fatalf("no kubeconfig: %v; stderr: %s", err, &p.stderr)
	}
	p.kubeconfig = strings.TrimSpace(line)
	p.config, p.client = connect(t, p.kubeconfig)
	return p
}

// launch starts the program and does not wait for anything.
func launch(t *testing.T, args ...string) *playground {
	t.Helper()
	p := &playground{process: program(t, args...)}
	p.process.Stderr = &p.stderr
	stdout, err := p.process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdout = bufio.NewReader(stdout)
	if err := p.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.stop(t, syscall.SIGTERM) })
	return p
}

// stop sends a signal, waits for the end of the process and returns its exit status.
func (p *playground) stop(t *testing.T, signal syscall.Signal) int {
	t.Helper()
	if p.stopped {
		return p.process.ProcessState.ExitCode()
	}
	p.stopped = true
	_ = p.process.Process.Signal(signal)
	hurry := time.AfterFunc(patience, func() {
		t.Errorf("still there %s after %s", patience, signal)
		_ = p.process.Process.Kill()
	})
	defer hurry.Stop()
	_, _ = io.Copy(io.Discard, p.stdout)
	_ = p.process.Wait()
	return p.process.ProcessState.ExitCode()
}

func connect(t *testing.T, kubeconfig string) (*rest.Config, kubernetes.Interface) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return config, client
}

// eventually polls until the condition has nothing to complain about any more.
func eventually(t *testing.T, condition func(context.Context) error) {
	t.Helper()
	var complaint error
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		complaint = condition(ctx)
		return complaint == nil, nil
	})
	if err != nil {
		t.Fatalf("%v: %v", err, complaint)
	}
}
