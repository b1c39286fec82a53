// Package prometheustest runs a real Prometheus server for a test, on a port of the loopback and with a folder of its own. The programs are
// those on the PATH; `make test` sees to it that there are some (hack/prometheus).
package prometheustest

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/sluice-delivery/sluice/internal/playtest/port"
)

// noSkip is the environment variable with which CI forbids a test to be skipped.
const noSkip = "SLUICE_NO_SKIP"

// Program is the path of "prometheus" or "promtool". A test that needs a program that is not there is skipped, in CI it fails.
func Program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
	case os.Getenv(noSkip) != "":
		t.Fatalf("this test asks a real Prometheus, and %s forbids to skip it: %v", noSkip, err)
	default:
		t.Skipf("this test asks a real Prometheus: run it with make test, or apt-get install prometheus (%v)", err)
	}
	return path
}

// patience is how long the server may take for anything. Only a hang takes as long.
const patience = time.Minute

// Start runs a server that scrapes targets every second, and returns its address. It ends with the test.
func Start(t *testing.T, targets ...string) string {
	t.Helper()
	program := Program(t, "prometheus")
	folder := t.TempDir()
	config := filepath.Join(folder, "prometheus.yml")
	if err := os.WriteFile(config, Config(targets...), 0o600); err != nil {
		t.Fatal(err)
	}
	free, err := port.Free()
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", free)
	var log bytes.Buffer
	cmd := exec.Command(program, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(folder, "data"), "--web.listen-address="+address)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var end error
	ended := make(chan struct{})
	go func() {
		end = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
		if t.Failed() {
			t.Logf("the log of Prometheus:\n%s", log.String())
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for !ready(ctx, "http://"+address) {
		select {
		case <-ended:
			t.Fatalf("Prometheus ended: %v", end)
		case <-ctx.Done():
			t.Fatal("Prometheus is not ready")
		case <-time.After(50 * time.Millisecond):
		}
	}
	return "http://" + address
}

// Config is the configuration of a server that scrapes targets every second.
func Config(targets ...string) []byte {
	text := "global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: test\n  static_configs:\n  - targets:\n"
	for _, target := range targets {
		text += fmt.Sprintf("    - %q\n", target)
	}
	return []byte(text)
}

func ready(ctx context.Context, address string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/-/ready", http.NoBody)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// WaitFor asks until a query has a result.
func WaitFor(t *testing.T, address, query string) {
	t.Helper()
	client, err := api.NewClient(api.Config{Address: address})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		value, _, err := promv1.NewAPI(client).Query(ctx, query, time.Now())
		if vector, ok := value.(model.Vector); ok && len(vector) > 0 {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("query %s has no result: %v", query, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
