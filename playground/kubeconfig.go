package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/sluice-delivery/sluice/playground/cluster"
)

// kubeconfigFlags are the command line of `sluice-playground kubeconfig`.
type kubeconfigFlags struct {
	serviceAccount string
	dataDir        string
	kubeconfig     string
	output         string
	validFor       time.Duration
}

func kubeconfigCommand() *cobra.Command {
	var flags kubeconfigFlags
	cmd := &cobra.Command{
		Use:   "kubeconfig --service-account NAMESPACE/NAME",
		Short: "Print a kubeconfig with which a program runs as a service account",
		Long: `Prints a kubeconfig that logs in as a service account of the cluster, with a token such as pods get. A program that is
started with it has exactly the rights that RBAC gives the service account.

The cluster is that of --data-dir, or of --kubeconfig, or of $KUBECONFIG.`,
		Example: `  sluice-playground kubeconfig --service-account sluice/sluice-controller -o controller.kubeconfig`,
		Args:    usage(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return printKubeconfig(cmd, flags) },
	}
	cmd.Flags().StringVar(&flags.serviceAccount, "service-account", "", "the service account, as NAMESPACE/NAME (required)")
	cmd.Flags().StringVar(&flags.dataDir, "data-dir", "", "data folder of a running playground")
	cmd.Flags().StringVar(&flags.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster")
	cmd.Flags().StringVarP(&flags.output, "output", "o", "", "write to this file instead of standard output")
	cmd.Flags().DurationVar(&flags.validFor, "valid-for", 24*time.Hour, "how long the token is good for")
	return cmd
}

func printKubeconfig(cmd *cobra.Command, flags kubeconfigFlags) error {
	namespace, name, ok := strings.Cut(flags.serviceAccount, "/")
	if !ok || namespace == "" || name == "" {
		return usageError{fmt.Errorf("--service-account must be NAMESPACE/NAME, not %q", flags.serviceAccount)}
	}
	if flags.dataDir != "" && flags.kubeconfig != "" {
		return usageError{fmt.Errorf("--data-dir and --kubeconfig exclude each other")}
	}
	config, err := flags.cluster()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	content, err := cluster.ServiceAccountKubeconfig(cmd.Context(), config, namespace, name, flags.validFor)
	if err != nil {
		return err
	}
	if flags.output == "" {
		_, err = cmd.OutOrStdout().Write(content)
		return err
	}
	return os.WriteFile(flags.output, content, 0o600)
}

func (f kubeconfigFlags) cluster() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	if f.dataDir != "" {
		rules.ExplicitPath = filepath.Join(f.dataDir, "kubeconfig")
	}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
}
