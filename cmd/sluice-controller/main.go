// Command sluice-controller carries out Rollouts in a Kubernetes cluster.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/sluice-delivery/sluice/internal/clean"
)

func main() {
	oneProcessor()
	os.Exit(run())
}

// oneProcessor has the process use a single processor at a time, unless GOMAXPROCS says otherwise. It waits for the API server nearly always,
// and on a node of many cores each answer would wake threads that find nothing to do (docs/performance.md).
func oneProcessor() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
}

func run() (exitStatus int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := newCommand().ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "error:", clean.Text(err.Error()))
	if usage := (*usageError)(nil); errors.As(err, &usage) {
		return 2
	}
	return 1
}
