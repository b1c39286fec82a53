// Command sluice-dashboard shows the Rollouts of a cluster in the browser, to everyone what he may see there.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/sluice-delivery/sluice/internal/clean"
)

func main() {
	os.Exit(run())
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
