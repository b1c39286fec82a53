package cli

import (
	"cmp"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/client-go/dynamic"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // kubeconfigs may name any of the ways to log in that kubectl knows
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/sluice-delivery/sluice/internal/buildinfo"
	"github.com/sluice-delivery/sluice/internal/cli/live"
	"github.com/sluice-delivery/sluice/internal/metricsapi"
)

// connection is kubectl's own flags about which cluster is meant and who one is there.
//
// They are those of cli-runtime's ConfigFlags, from the package that it is made of: cli-runtime itself would bring kustomize and all
// typed clients, and with them four times the size.
type connection struct {
	rules     *clientcmd.ClientConfigLoadingRules
	overrides clientcmd.ConfigOverrides
}

func (c *connection) add(root *cobra.Command) {
	c.rules = clientcmd.NewDefaultClientConfigLoadingRules()
	names := clientcmd.RecommendedConfigOverrideFlags("")
	names.ClusterOverrideFlags.APIServer.ShortName = "s"
	names.AuthOverrideFlags.Username.LongName = "" // as kubectl, which gave up passwords
	names.AuthOverrideFlags.Password.LongName = ""
	flags := root.PersistentFlags()
	flags.StringVar(&c.rules.ExplicitPath, "kubeconfig", "", "path to the kubeconfig file to use")
	clientcmd.BindOverrideFlags(&c.overrides, flags, names)
	flags.String("cache-dir", "", "accepted as kubectl has it; nothing is cached")
	for _, name := range []string{"cache-dir"} {
		_ = flags.MarkHidden(name) // fails for unknown names only
	}
}

// client returns what connects to the cluster, when flags have been read.
func (c *connection) client(warnings io.Writer) func() (live.Client, error) {
	return func() (live.Client, error) {
		loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(c.rules, &c.overrides)
		config, err := loader.ClientConfig()
		if err != nil {
			return live.Client{}, err
		}
		namespace, _, err := loader.Namespace()
		if err != nil {
			return live.Client{}, err
		}
		config.UserAgent = "sluice/" + buildinfo.Version()
		config.QPS = -1 // a person is slow enough, and the API server knows its limits
		config.WarningHandler = rest.NewWarningWriter(warnings, rest.WarningWriterOptions{Deduplicate: true})
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return live.Client{}, err
		}
		metrics, err := metricsapi.Of(config)
		if err != nil {
			return live.Client{}, err
		}
		return live.Client{Interface: client, Namespace: namespace, Metrics: metrics}, nil
	}
}

// cluster is what the kubeconfig calls the cluster, or its address.
func (c *connection) cluster() string {
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(c.rules, &c.overrides)
	raw, err := loader.RawConfig()
	if err != nil {
		return ""
	}
	return cmp.Or(c.overrides.CurrentContext, raw.CurrentContext)
}
