package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"

	"github.com/sluice-delivery/sluice/internal/playtest"
)

func contextWithPatience(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), playtest.Patience)
}

// process is a program that runs until the test ends.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	log *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func start(t *testing.T, program string, args, env []string) *process {
	t.Helper()
	p := &process{t: t, log: &lockedBuffer{}}
	p.cmd = exec.Command(program, args...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.Env = append(os.Environ(), env...)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("the log of %s:\n%s", program, p.log)
		}
	})
	return p
}

// kill ends the process at once.
func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	_ = p.cmd.Wait() // ended by a signal is what was asked for
}
