package main

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/net/http/httpproxy"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/sluice-delivery/sluice/internal/buildinfo"
	"github.com/sluice-delivery/sluice/internal/clean"
	"github.com/sluice-delivery/sluice/internal/metric/server"
	"github.com/sluice-delivery/sluice/notifier/send"
	"github.com/sluice-delivery/sluice/notifier/watch"
)

// cluster are the flags that say where the API server is, those of kubectl.
type cluster struct {
	kubeconfig string
	overrides  clientcmd.ConfigOverrides
}

// displayVariable is how `sluice notifications` says what its user typed.
const displayVariable = "SLUICE_NOTIFICATIONS_DISPLAY"

func newCommand() *cobra.Command {
	var c cluster
	root := &cobra.Command{
		Use: "sluice-notifier", Short: "Send notifications about Rollouts to Slack, e-mail, webhooks and other services",
		SilenceUsage: true, SilenceErrors: true, Version: buildinfo.Version(),
	}
	f := root.PersistentFlags()
	f.StringVar(&c.kubeconfig, "kubeconfig", "", "kubeconfig `FILE` of the cluster; without it $KUBECONFIG, then the pod's own service account")
	flags := clientcmd.RecommendedConfigOverrideFlags("")
	flags.ContextOverrideFlags.Namespace.Description = "NAMESPACE to work in; by default, that of the kubeconfig or the pod"
	clientcmd.BindOverrideFlags(&c.overrides, f, flags)
	root.AddCommand(inspectors(&c)...)
	if display := os.Getenv(displayVariable); display != "" {
		root.Short = "Show and try out notification templates and triggers"
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: display}
		return root
	}
	root.AddCommand(newRun(&c))
	return root
}

func (c *cluster) connect() (*rest.Config, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &c.overrides)
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("find the cluster: %w", err)
	}
	config.UserAgent = "sluice-notifier/" + buildinfo.Version()
	config.QPS = -1 // each message is two requests; the API server has priority and fairness, and how many are sent at once is limited
	namespace, _, err := loader.Namespace()
	return config, namespace, err
}

func newRun(c *cluster) *cobra.Command {
	var (
		o           watch.Options
		namespaced  bool
		allow, deny []string
		level       string
		format      string
	)
	cmd := &cobra.Command{
		Use: "run", Short: "Follow Rollouts and send notifications until stopped", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := newLogger(cmd.ErrOrStderr(), level, format)
			if err != nil {
				return err
			}
			if o.Rules.Allow, err = server.ParseRanges(allow); err != nil {
				return fmt.Errorf("--allow-cidrs: %w", err)
			}
			if o.Rules.Deny, err = server.ParseRanges(deny); err != nil {
				return fmt.Errorf("--deny-cidrs: %w", err)
			}
			config, namespace, err := c.connect()
			if err != nil {
				return err
			}
			o.OwnNamespace = cmp.Or(os.Getenv("POD_NAMESPACE"), namespace)
			if namespaced {
				o.Namespace = namespace
			}
			proxies := httpproxy.FromEnvironment()
			network := send.NewNetwork(o.Rules, proxies)
			toProxy := proxies.ProxyFunc()
			config.Proxy = func(r *http.Request) (*url.URL, error) { return toProxy(r.URL) } // before the environment names our own proxy
			egress, err := send.NewEgress(network)
			if err != nil {
				return err
			}
			go func() {
				if err := egress.Serve(cmd.Context()); err != nil {
					log.Error("the proxy for outgoing requests ended", "error", err)
				}
			}()
			log.Info("sluice-notifier starts", "version", buildinfo.Version(), "cluster", config.Host, "namespace", o.Namespace, "instance", o.InstanceID)
			return watch.Run(cmd.Context(), config, network, o, log)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&namespaced, "namespaced", false, "watch only one namespace: --namespace, else that of the kubeconfig or the pod")
	f.StringVar(&o.InstanceID, "instance-id", "", "watch only objects whose label argo-rollouts.argoproj.io/controller-instance-id has this value; by default, objects without the label")
	f.BoolVar(&o.SelfService, "self-service-notification-enabled", false, "also use the ConfigMap and Secret in the namespace of each Rollout")
	f.BoolVar(&o.PerObjectMetrics, "per-object-metrics", false, "label metrics with the names of objects (high cardinality)")
	f.StringSliceVar(&o.Rules.Hosts, "allow-hosts", nil, "`NAMES` of the only servers that messages may go to, such as hooks.slack.com or *.example.com; by default, all")
	f.StringSliceVar(&allow, "allow-cidrs", nil, "address `RANGES` that messages may go to although they are denied by default: loopback, link-local, reserved, cloud metadata services and, for services that a namespace configures itself, private networks")
	f.StringSliceVar(&deny, "deny-cidrs", nil, "address `RANGES` that messages must not go to, such as 10.0.0.0/8")
	f.DurationVar(&o.Deadline, "delivery-deadline", 30*time.Minute, "how long a message is retried before it is dropped")
	f.DurationVar(&o.CatchUp, "catch-up", time.Hour, "how old an event may be that is still sent, after the notifier was down")
	f.IntVar(&o.MetricsPort, "metrics-port", 8090, "port for Prometheus metrics; 0 for none")
	f.IntVar(&o.HealthPort, "healthz-port", 8080, "port for the health probes; 0 for none")
	f.DurationVar(&o.LeaseDuration, "leader-election-lease-duration", 15*time.Second, "how long others wait before they take over a lease that is not renewed")
	f.StringVar(&level, "loglevel", "info", "minimum log level: debug, info, warn, or error")
	f.StringVar(&format, "logformat", "text", "log format: text or json")
	return cmd
}

func newLogger(to io.Writer, level, format string) (*slog.Logger, error) {
	options := &slog.HandlerOptions{}
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("--loglevel %q is none of debug, info, warn and error", level)
	}
	options.Level = least
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(clean.Writer{To: to}, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(clean.JSONWriter{To: to}, options)), nil
	}
	return nil, fmt.Errorf("--logformat %q is neither text nor json", format)
}
