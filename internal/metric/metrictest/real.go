package metrictest

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-delivery/sluice/internal/playtest/port"
)

// noSkip is the environment variable with which CI forbids a test to be skipped.
const noSkip = "SLUICE_NO_SKIP"

// patience is how long a real server may take for anything. Only a hang takes as long.
const patience = time.Minute

// Real is a server of a Debian package.
type Real struct {
	Package string
	// Program is looked for on the PATH. A test that needs one that is not there is skipped, in CI it fails.
	Program string
	// Command runs the server on a port of the loopback, with a folder of its own.
	Command func(program, folder string, port int) *exec.Cmd
	// Ready is the path that it answers when it can be asked.
	Ready string
}

// Start runs the server until the test ends, and returns its address.
func (r Real) Start(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath(r.Program)
	switch {
	case err == nil:
	case os.Getenv(noSkip) != "":
		t.Fatalf("this test asks a real server, and %s forbids to skip it: apt-get install %s (%v)", noSkip, r.Package, err)
	default:
		t.Skipf("this test asks a real server: apt-get install %s (%v)", r.Package, err)
	}
	free, err := port.Free()
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cmd := r.Command(program, t.TempDir(), free)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // a server that ends early is not ready
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
		if t.Failed() {
			t.Logf("the log of %s:\n%s", r.Package, log.String())
		}
	})
	address := fmt.Sprintf("http://127.0.0.1:%d", free)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for !answers(ctx, address+r.Ready) {
		select {
		case <-ended:
			t.Fatalf("%s ended", r.Package)
		case <-ctx.Done():
			t.Fatalf("%s is not ready", r.Package)
		case <-again.C:
		}
	}
	return address
}

func answers(ctx context.Context, address string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode < 400
}
