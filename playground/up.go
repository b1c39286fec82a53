package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-delivery/sluice/playground/cluster"
)

func upCommand() *cobra.Command {
	opts := cluster.Options{Nodes: 3, PodReadyAfter: time.Second, Metrics: true}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a cluster, and run it until interrupted",
		Long: `Starts a cluster and runs it until it is interrupted. The path of the administrator's kubeconfig is printed on standard
output as soon as the cluster can be used.

With --data-dir everything in the cluster, its address and its credentials survive a restart. Without, nothing is left behind.`,
		Example: `  # In one terminal:
  sluice-playground up --kubeconfig playground.kubeconfig
  # In another:
  export KUBECONFIG=$PWD/playground.kubeconfig
  sluice-playground kubectl get nodes`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return up(cmd, opts) },
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.DataDir, "data-dir", "", "folder for the cluster's state (default: a temporary folder, removed at the end)")
	flags.IntVar(&opts.Port, "port", 0, "port of the API server (default: the one of the last run with this data folder, or else any free one)")
	flags.StringVar(&opts.Kubeconfig, "kubeconfig", "", "also write the kubeconfig to this file")
	flags.IntVar(&opts.Nodes, "nodes", opts.Nodes, "number of simulated nodes")
	flags.BoolVar(&opts.Metrics, "metrics", opts.Metrics, "serve the resource-metrics API, for kubectl top and HorizontalPodAutoscalers")
	flags.DurationVar(&opts.PodReadyAfter, "pod-ready-after", opts.PodReadyAfter, "how long a pod takes to become ready, unless it says so itself")
	flags.DurationVar(&opts.EndpointsBatch, "endpointslice-updates-batch-period", 0, "how long changes of pods are gathered before EndpointSlices list them, as kube-controller-manager's flag of this name")
	flags.StringVar(&opts.AuditLog, "audit-log", "", "log every request to this file, one JSON object a line")
	flags.StringVar(&opts.AuthenticationConfig, "authentication-config", "", "AuthenticationConfiguration of the API server, a file that names OpenID Connect providers; it is read again when it changes")
	flags.StringVar(&opts.LogFile, "log-file", "", "log of all components (default: playground.log in the data folder)")
	flags.IntVarP(&opts.Verbosity, "v", "v", 0, "verbosity of that log, 0 to 10")
	return cmd
}

// up runs a cluster until the command's context ends, which is what SIGINT and SIGTERM do.
func up(cmd *cobra.Command, opts cluster.Options) error {
	if opts.Port < 0 || opts.Port > 65535 {
		return usageError{fmt.Errorf("--port %d is not between 0 and 65535", opts.Port)}
	}
	if opts.Nodes < 0 {
		return usageError{fmt.Errorf("--nodes %d is negative", opts.Nodes)}
	}
	if opts.EndpointsBatch < 0 {
		return usageError{fmt.Errorf("--endpointslice-updates-batch-period %s is negative", opts.EndpointsBatch)}
	}
	if opts.PodReadyAfter < 0 {
		return usageError{fmt.Errorf("--pod-ready-after %s is negative", opts.PodReadyAfter)}
	}
	if opts.PodReadyAfter == 0 {
		opts.PodReadyAfter = time.Nanosecond // Zero would be the default, not what was asked for.
	}
	limitMemory()
	begin := time.Now()
	c, err := cluster.Start(cmd.Context(), opts)
	if err != nil {
		if cmd.Context().Err() != nil {
			return nil // Interrupted on the way up: that is what the user wanted.
		}
		return err
	}
	defer c.Stop()
	if _, err := fmt.Fprintln(cmd.OutOrStdout(), c.Kubeconfig); err != nil {
		return fmt.Errorf("print the kubeconfig's path: %w", err)
	}
	_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "Kubernetes is ready after %.1f s. Use it: export KUBECONFIG=%s (log: %s; stop: Ctrl-C)\n",
		time.Since(begin).Seconds(), c.Kubeconfig, c.LogFile)
	select {
	case <-cmd.Context().Done():
		return nil
	case err := <-c.Failed():
		return fmt.Errorf("%w (log: %s)", err, c.LogFile)
	}
}

// limitMemory has the garbage collector work harder before the process takes more than a small machine, or a test run beside
// others, has to spare: it is for that, not for throughput, that people use a playground. A few hundred pods fit below.
func limitMemory() {
	const limit = 450 << 20
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
}
