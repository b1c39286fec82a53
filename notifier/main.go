// Command sluice-notifier sends notifications about Rollouts.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/sluice-delivery/sluice/internal/clean"
)

func main() { os.Exit(run()) }

func run() (exitStatus int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := newCommand()
	root.SetOut(clean.Writer{To: os.Stdout})
	root.SetErr(clean.Writer{To: os.Stderr})
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "error:", clean.Text(err.Error()))
		return 1
	}
	return 0
}
