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
	"k8s.io/apimachinery/pkg/runtime/schema"
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
		Short:         "Run canary and blue-green updates of pods in a Kubernetes cluster",
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
	f.BoolVar(&s.namespaced, "namespaced", false, "manage only one namespace: --namespace, else that of the kubeconfig or the pod")
	f.StringVarP(&s.namespace, "namespace", "n", "", "namespace to manage with --namespaced; without $POD_NAMESPACE, also the namespace of the leader election lease")
	f.StringVar(&o.InstanceID, "instance-id", "", "manage only objects whose label argo-rollouts.argoproj.io/controller-instance-id has this value; by default, objects without the label")
	f.IntVar(&o.RolloutThreads, "rollout-threads", 10, "number of Rollouts to reconcile in parallel")
	f.IntVar(&o.ExperimentThreads, "experiment-threads", 10, "number of Experiments to reconcile in parallel")
	f.IntVar(&o.AnalysisThreads, "analysis-threads", 30, "number of AnalysisRuns to reconcile in parallel; measurements do not count")
	f.BoolVar(&o.AllowUnconfinedJobs, "allow-unconfined-jobs", false, "allow any pod spec and service account for measurement Jobs that run outside the namespace of their AnalysisRun")
	f.StringSliceVar(&o.Policy.AllowIngressAnnotations, "allow-ingress-annotations", nil, "`KEYS` of annotations (* matches any characters) that Rollouts may set on canary Ingresses although they inject configuration, control authentication, or belong to another program")
	f.StringSliceVar(&o.Policy.RouteNamespaces, "gateway-route-namespaces", nil, "`NAMESPACES` whose Gateway API routes may be used by Rollouts in all namespaces, comma-separated, or * for all; by default, a Rollout may use routes in its own namespace, and routes whose owner allows it with the annotation "+v1alpha1.RolloutNamespacesAnnotation)
	f.DurationVar(&o.RouteTimeout, "gateway-status-timeout", time.Minute, "how long a weight waits for the status of its Gateway API routes to say that the Gateways have accepted it; 0 does not wait")
	f.BoolVar(&o.VerifyAWS, "aws-verify-target-group", false, "ask AWS whether load balancers forward by the weights of their Ingresses, and whether pods are registered in target groups, before a step ends or pods are removed; needs AWS credentials and a region")
	f.BoolVar(&o.VerifyAWS, "alb-verify-weight", false, "the former name of --aws-verify-target-group")
	f.StringSliceVar(&o.AnalysisAllow, "analysis-allow-cidrs", nil, "address `RANGES` that measurements may reach although they are denied by default: loopback (127.0.0.0/8), link-local, reserved, and cloud metadata services")
	f.StringSliceVar(&o.AnalysisDeny, "analysis-deny-cidrs", nil, "address `RANGES` that measurements must not reach, such as 10.0.0.0/8")
	f.Int64Var(&s.resyncSeconds, "rollout-resync", 900, "`SECONDS` after which every Rollout is reconciled again even if nothing has changed")
	f.StringVar(&o.PluginDir, "plugin-dir", "plugin-bin", "`DIRECTORY` for the binaries of plugins, relative to the working directory")
	f.StringVar(&o.PprofAddress, "enable-pprof-address", "", "serve Go profiles at this `HOST:PORT`, such as 127.0.0.1:6060; profiles expose process memory, so keep the port private")
	f.StringVar(&o.TracesEndpoint, "otlp-endpoint", "", "`URL` of an OpenTelemetry collector that receives a trace of each update over gRPC, such as http://127.0.0.1:4317; defaults to $OTEL_EXPORTER_OTLP_ENDPOINT; if neither is set, no traces are sent")
	f.BoolVar(&o.PerObjectMetrics, "per-object-metrics", false, "add per-object labels to histograms and request counters (high cardinality)")
	f.IntVar(&o.MetricsPort, "metrics-port", 8090, "port for Prometheus metrics; 0 for none")
	f.BoolVar(&o.MetricsSecure, "metrics-secure", false, "serve metrics over TLS, and only to clients whose token may get the URL /metrics; needs permission to create tokenreviews and subjectaccessreviews")
	f.StringVar(&o.MetricsCertDir, "metrics-cert-dir", "", "`DIRECTORY` with tls.crt and tls.key for --metrics-secure, reloaded when they change; by default, a self-signed certificate is used")
	f.IntVar(&o.HealthzPort, "healthz-port", 8080, "port for the health probe; 0 for none")
	f.BoolVar(&o.LeaderElect, "leader-elect", true, "work only while holding a lease, so that only one of several replicas is active")
	f.DurationVar(&o.LeaseDuration, "leader-election-lease-duration", 15*time.Second, "how long others wait before they take over a lease that is not renewed")
	f.DurationVar(&o.RenewDeadline, "leader-election-renew-deadline", 10*time.Second, "how long the leader tries to renew its lease before it gives up and exits")
	f.DurationVar(&o.RetryPeriod, "leader-election-retry-period", 2*time.Second, "time between attempts to acquire or renew the lease")
	f.StringVar(&s.logLevel, "loglevel", "info", "minimum log level: debug, info, warn, or error")
	f.StringVar(&s.logFormat, "logformat", "text", "log format: text or json")
	f.IntVar(&s.klogLevel, "kloglevel", 0, "verbosity of the Kubernetes client library, 0 to 10")
	f.Float32Var(&s.qps, "qps", 0, "maximum requests per second to the API server; 0 sets no client-side limit")
	f.IntVar(&s.burst, "burst", 0, "maximum burst of requests above --qps; 0 for twice --qps")
	f.BoolVar(&s.printsVersion, "version", false, "print the version and exit")
	o.Versions = map[schema.GroupKind]string{}
	addVersions(f, o.Versions)
	refuse(f)
	f.SetNormalizeFunc(upstreamNames)
}

// upstreamNames lets manifests written for Argo Rollouts work as they are.
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
	o.Env = os.Getenv
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
