package main

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/buildinfo"
	"github.com/sluice-delivery/sluice/internal/clean"
	"github.com/sluice-delivery/sluice/internal/controller"
	"github.com/sluice-delivery/sluice/internal/metric/prometheus"
	"github.com/sluice-delivery/sluice/internal/telemetry/trace"
)

// usageError is a mistake in how the program was called.
type usageError struct{ error }

// settings are the flags that are not the controller's own options.
type settings struct {
	kubeconfig    string
	context       string
	namespaced    bool
	namespace     string
	logLevel      string
	klogLevel     int
	logFormat     string
	qps           float32
	burst         int
	resyncSeconds int64
	printsVersion bool
}

func newCommand() *cobra.Command {
	var (
		s settings
		o controller.Options
	)
	cmd := &cobra.Command{
		Use:           "sluice-controller",
		Short:         "Carry out Rollouts: canary and blue-green updates of pods in a Kubernetes cluster",
		Args:          noArguments,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if s.printsVersion {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), buildinfo.Version())
				return err
			}
			return start(cmd, s, o)
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return &usageError{mistake(cmd.Flags(), err)} })
	addFlags(cmd.Flags(), &s, &o)
	return cmd
}

func noArguments(cmd *cobra.Command, args []string) error {
	if err := cobra.NoArgs(cmd, args); err != nil {
		return &usageError{fmt.Errorf("the controller takes flags only, not %q", args)}
	}
	return nil
}

func addFlags(f *pflag.FlagSet, s *settings, o *controller.Options) {
	f.StringVar(&s.kubeconfig, "kubeconfig", "", "kubeconfig `FILE` of the cluster; without it $KUBECONFIG, then the pod's own service account")
	f.StringVar(&s.context, "context", "", "`NAME` of the kubeconfig's context to use")
	f.BoolVar(&s.namespaced, "namespaced", false, "look after one namespace only: --namespace, or else the kubeconfig's or the pod's own")
	f.StringVarP(&s.namespace, "namespace", "n", "", "namespace that --namespaced means; without $POD_NAMESPACE also the one that holds the leader election's lease")
	f.StringVar(&o.InstanceID, "instance-id", "", "look after objects only whose label argo-rollouts.argoproj.io/controller-instance-id has this value; without it, after those without the label")
	f.IntVar(&o.RolloutThreads, "rollout-threads", 10, "how many Rollouts to work on at once")
	f.IntVar(&o.ExperimentThreads, "experiment-threads", 10, "how many Experiments to work on at once")
	f.IntVar(&o.AnalysisThreads, "analysis-threads", 30, "how many AnalysisRuns to work on at once; measurements take none of them")
	f.BoolVar(&o.AllowUnconfinedJobs, "allow-unconfined-jobs", false, "let Jobs that measure have any pod spec and service account where they do not run in the AnalysisRun's own namespace")
	f.StringSliceVar(&o.Policy.AllowIngressAnnotations, "allow-ingress-annotations", nil, "`KEYS` of annotations, with * for any characters, that Rollouts may have on canary Ingresses although ingress-nginx runs them as configuration, they decide about authentication, or they are another program's")
	f.StringSliceVar(&o.Policy.RouteNamespaces, "gateway-route-namespaces", nil, "`NAMESPACES` whose Gateway API routes Rollouts of all namespaces may use, comma separated, or * for all; without it only those of their own namespace, and those whose owner lets them by the annotation "+v1alpha1.RolloutNamespacesAnnotation)
	f.StringSliceVar(&o.AnalysisAllow, "analysis-allow-cidrs", nil, "`RANGES` of addresses that measurements may ask although they are refused by default: this machine (127.0.0.0/8), link-local, reserved, and metadata services of clouds")
	f.StringSliceVar(&o.AnalysisDeny, "analysis-deny-cidrs", nil, "`RANGES` of addresses that measurements may not ask, such as 10.0.0.0/8")
	f.Int64Var(&s.resyncSeconds, "rollout-resync", 900, "`SECONDS` after which every Rollout is looked at again although nothing has happened")
	f.StringVar(&o.PprofAddress, "enable-pprof-address", "", "serve Go's profiles of this process at this `HOST:PORT`, such as 127.0.0.1:6060; empty for nowhere")
	f.StringVar(&o.TracesEndpoint, "otlp-endpoint", "", "`URL` of an OpenTelemetry collector that is to get a trace of each update by gRPC, such as http://127.0.0.1:4317; without it $OTEL_EXPORTER_OTLP_ENDPOINT, else nowhere")
	f.BoolVar(&o.PerObjectMetrics, "per-object-metrics", false, "have histograms, and counts of requests, tell single objects apart, at the price of many series")
	f.IntVar(&o.MetricsPort, "metrics-port", 8090, "port for Prometheus metrics; 0 for none")
	f.BoolVar(&o.MetricsSecure, "metrics-secure", false, "serve metrics by TLS, and only to clients whose token may get the URL /metrics; needs the right to create tokenreviews and subjectaccessreviews")
	f.StringVar(&o.MetricsCertDir, "metrics-cert-dir", "", "`DIRECTORY` with tls.crt and tls.key for --metrics-secure, which are read again when they change; without it a self-signed certificate")
	f.IntVar(&o.HealthzPort, "healthz-port", 8080, "port for the health probe; 0 for none")
	f.BoolVar(&o.LeaderElect, "leader-elect", true, "work only while holding a lease, so that of several replicas one is active")
	f.DurationVar(&o.LeaseDuration, "leader-election-lease-duration", 15*time.Second, "how long others wait before they take over a lease that is not renewed")
	f.DurationVar(&o.RenewDeadline, "leader-election-renew-deadline", 10*time.Second, "how long the leader tries to renew its lease before it gives up and exits")
	f.DurationVar(&o.RetryPeriod, "leader-election-retry-period", 2*time.Second, "time between two tries to take or renew the lease")
	f.StringVar(&s.logLevel, "loglevel", "info", "least level to log: debug, info, warn or error")
	f.StringVar(&s.logFormat, "logformat", "text", "format of the log: text or json")
	f.IntVar(&s.klogLevel, "kloglevel", 0, "verbosity of the Kubernetes client library, 0 to 10")
	f.Float32Var(&s.qps, "qps", 0, "most requests a second to the API server; 0 leaves the limit to the API server's priority and fairness")
	f.IntVar(&s.burst, "burst", 0, "most requests at once above --qps; 0 for twice the --qps")
	f.BoolVar(&s.printsVersion, "version", false, "print the version and exit")
	refuse(f)
	f.SetNormalizeFunc(upstreamNames)
}

// upstreamNames lets manifests written for upstream's controller work as they are.
func upstreamNames(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	switch strings.ToLower(name) {
	case "metricsport":
		name = "metrics-port"
	case "healthzport":
		name = "healthz-port"
	}
	return pflag.NormalizedName(name)
}

func start(cmd *cobra.Command, s settings, o controller.Options) error {
	log, err := newLogger(s, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if o.TracesEndpoint, err = trace.Endpoint(o.TracesEndpoint, os.Getenv); err != nil {
		return &usageError{err}
	}
	config, namespace, err := connect(s)
	if err != nil {
		return err
	}
	o.PrometheusAddress = os.Getenv(prometheus.AddressVariable)
	o.JobKubeconfig, o.JobNamespace = os.Getenv(controller.JobKubeconfigVariable), os.Getenv(controller.JobNamespaceVariable)
	o.OwnNamespace = cmp.Or(os.Getenv("POD_NAMESPACE"), namespace)
	if s.namespaced {
		o.Namespace = namespace
	}
	o.RolloutResync = time.Duration(s.resyncSeconds) * time.Second
	if err := o.Validate(); err != nil {
		return &usageError{err}
	}
	log.Info("sluice-controller starts", "version", buildinfo.Version(), "cluster", config.Host, "namespace", o.Namespace, "instance", o.InstanceID)
	return controller.Run(cmd.Context(), config, o, log)
}

// newLogger writes to `to`, Kubernetes' client library too. What tenants wrote steers nobody's terminal, whatever encodes it.
func newLogger(s settings, to io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(s.logLevel)); err != nil {
		return nil, &usageError{fmt.Errorf("--loglevel %q is none of debug, info, warn and error", s.logLevel)}
	}
	options := &slog.HandlerOptions{Level: level}
	var handler slog.Handler
	switch s.logFormat {
	case "", "text":
		handler = slog.NewTextHandler(clean.Writer{To: to}, options)
	case "json":
		handler = slog.NewJSONHandler(clean.JSONWriter{To: to}, options)
	default:
		return nil, &usageError{fmt.Errorf("--logformat %q is neither text nor json", s.logFormat)}
	}
	if s.klogLevel < 0 || s.klogLevel > 10 {
		return nil, &usageError{fmt.Errorf("--kloglevel %d is not between 0 and 10", s.klogLevel)}
	}
	klog.SetLogger(logr.FromSlogHandler(handler))
	var verbosity klog.Level
	if err := verbosity.Set(strconv.Itoa(s.klogLevel)); err != nil { // it is the library's own, for the whole process
		return nil, err
	}
	return slog.New(handler), nil
}

// connect finds the cluster, and the namespace that is meant there.
func connect(s settings) (*rest.Config, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = s.kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: s.context}
	overrides.Context.Namespace = s.namespace
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, "", &usageError{fmt.Errorf("find the cluster: %w", err)}
	}
	config.QPS, config.Burst = s.qps, s.burst
	switch {
	case s.qps < 0 || s.burst < 0:
		return nil, "", &usageError{fmt.Errorf("--qps %g --burst %d: write 0 or more", s.qps, s.burst)}
	case s.qps == 0 && s.burst > 0:
		return nil, "", &usageError{fmt.Errorf("--burst %d says how far --qps may be exceeded, which is 0, no limit: set --qps too, or leave it out", s.burst)}
	case s.qps == 0:
		config.QPS = -1
	case s.burst == 0:
		config.Burst = int(2*s.qps) + 1
	}
	config.UserAgent = "sluice-controller/" + buildinfo.Version()
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("find the namespace: %w", err)
	}
	return config, namespace, nil
}
