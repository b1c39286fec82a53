package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	// kubectl reads the command line by rules of its own, so cobra must not see it first.
	if args, ok := kubectlArgs(os.Args); ok {
		runKubectl(args)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	// A second signal ends the process on the spot.
	context.AfterFunc(ctx, stop)
	err := rootCommand().ExecuteContext(ctx)
	if err == nil {
		return
	}
	fmt.Fprintf(os.Stderr, "sluice-playground: %v\n", err)
	if errors.As(err, new(usageError)) {
		os.Exit(2)
	}
	os.Exit(1)
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "sluice-playground",
		Short: "A Kubernetes control plane in one process, with simulated nodes",
		Long: `A real Kubernetes API server with etcd and the controllers that rollouts need, in one process. Its nodes are simulated:
pods start, become ready and stop as they would, but no container runs.`,
		Args:          usage(cobra.NoArgs),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(upCommand(), kubectlCommand(), kubeconfigCommand(), versionCommand())
	return root
}

// usageError is an invalid command line, as opposed to one that failed.
type usageError struct{ error }

// usage makes the errors of a check of arguments usage errors.
func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{err}
		}
		return nil
	}
}

// kubectlArgs are the arguments for kubectl, its own name first, if kubectl is meant: as a subcommand, or because a link of
// that name leads here.
func kubectlArgs(args []string) ([]string, bool) {
	if filepath.Base(args[0]) == "kubectl" {
		return args, true
	}
	if len(args) > 1 && args[1] == "kubectl" {
		return args[1:], true
	}
	return nil, false
}
