package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"github.com/sluice-delivery/sluice/internal/clean"
	"github.com/sluice-delivery/sluice/internal/controller"
)

// A mistake in how the program is called is one line that names the flag, its value and the remedy, and status 2.
func TestMistakesOnTheCommandLine(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"an argument":                    {[]string{"run"}, []string{`"run"`, "flags only"}},
		"a flag that is not there":       {[]string{"--rollouts"}, []string{"unknown flag: --rollouts", "see --help"}},
		"a flag that is mistyped":        {[]string{"--leader-elct=false"}, []string{"--leader-elct", "did you mean --leader-elect?"}},
		"letters for a number":           {[]string{"--metrics-port=abc"}, []string{`--metrics-port "abc": write a whole number`}},
		"a time without a unit":          {[]string{"--leader-election-retry-period=2"}, []string{`--leader-election-retry-period "2"`, "15s or 2m"}},
		"neither true nor false":         {[]string{"--leader-elect=perhaps"}, []string{`"perhaps": write true or false`}},
		"a level that is not there":      {[]string{"--loglevel=loud"}, []string{`--loglevel "loud"`, "debug, info, warn and error"}},
		"a format":                       {[]string{"--logformat=xml"}, []string{`--logformat "xml"`, "text nor json"}},
		"the library's verbosity":        {[]string{"--kloglevel=11"}, []string{"--kloglevel 11"}},
		"a collector":                    {[]string{"--otlp-endpoint=collector:4317"}, []string{`--otlp-endpoint "collector:4317"`, "http://HOST:PORT"}},
		"no cluster":                     {[]string{"--kubeconfig=/nowhere"}, []string{"find the cluster", "/nowhere"}},
		"Argo Rollouts' --alb-ingress":   {[]string{"--alb-ingress-classes=alb"}, []string{"--alb-ingress-classes", "the Ingresses that a Rollout names"}},
		"Argo Rollouts' without a value": {[]string{"--self-service-notification-enabled"}, []string{"sluice-notifier sends notifications"}},
		"Argo Rollouts' workers":         {[]string{"--service-threads", "3"}, []string{"--service-threads: ", "--rollout-threads"}},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := newCommand()
			cmd.SetArgs(c.args)
			err := cmd.ExecuteContext(t.Context())
			if err == nil {
				t.Fatal("no error")
			}
			if !errors.As(err, new(*usageError)) {
				t.Errorf("status is not 2 for: %v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q: %v", want, err)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("the error has several lines:\n%v", err)
			}
		})
	}
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	good := controller.Options{
		RolloutThreads: 1, ExperimentThreads: 1, AnalysisThreads: 1, RolloutResync: time.Minute,
		LeaderElect: true, OwnNamespace: "ns", LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
	}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*controller.Options){
		"--rollout-threads 0":     func(o *controller.Options) { o.RolloutThreads = 0 },
		"--experiment-threads -1": func(o *controller.Options) { o.ExperimentThreads = -1 },
		"--analysis-threads 0":    func(o *controller.Options) { o.AnalysisThreads = 0 },
		"--rollout-resync 0":      func(o *controller.Options) { o.RolloutResync = 0 },
		"--metrics-port 70000":    func(o *controller.Options) { o.MetricsPort = 70000 },
		"--healthz-port -1":       func(o *controller.Options) { o.HealthzPort = -1 },
		"must be longer than":     func(o *controller.Options) { o.RenewDeadline = time.Minute },
		"$POD_NAMESPACE":          func(o *controller.Options) { o.OwnNamespace = "" },
		`--metrics-cert-dir "/nowhere" is for --metrics-secure`: func(o *controller.Options) { o.MetricsCertDir = "/nowhere" },
		"put a certificate in tls.crt": func(o *controller.Options) {
			o.MetricsPort, o.MetricsSecure, o.MetricsCertDir = 8090, true, "/nowhere"
		},
		`--enable-pprof-address "me"`: func(o *controller.Options) { o.PprofAddress = "me" },
		"are both 8090":               func(o *controller.Options) { o.MetricsPort, o.HealthzPort = 8090, 8090 },
		`namespace "Shop"`:            func(o *controller.Options) { o.Namespace = "Shop" },
		"$ARGO_ROLLOUTS_PROMETHEUS_ADDRESS \"prometheus:9090\"":     func(o *controller.Options) { o.PrometheusAddress = "prometheus:9090" },
		"$ARGO_ROLLOUTS_ANALYSIS_JOB_NAMESPACE \"My Shop\"":         func(o *controller.Options) { o.JobNamespace = "My Shop" },
		"$ARGO_ROLLOUTS_ANALYSIS_JOB_KUBECONFIG \"/nowhere\" is no": func(o *controller.Options) { o.JobKubeconfig = "/nowhere" },
		`--instance-id "a b"`: func(o *controller.Options) { o.InstanceID = "a b" },
	} {
		o := good
		spoil(&o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error that says %s, got %v", want, err)
		}
	}
}

// Every flag has a value that it refuses: in one line, with status 2, by its name.
func TestEveryFlagRefusesNonsense(t *testing.T) {
	bad := map[string]string{
		"kubeconfig": "/nowhere", "context": "elsewhere", "namespaced": "perhaps", "namespace": "My Shop", "instance-id": "a b",
		"rollout-threads": "0", "experiment-threads": "-1", "analysis-threads": "many", "rollout-resync": "0",
		"enable-pprof-address": "me", "otlp-endpoint": "collector:4317", "per-object-metrics": "perhaps",
		"metrics-port": "70000", "healthz-port": "8090", "leader-elect": "perhaps", "version": "perhaps",
		"leader-election-lease-duration": "1s", "leader-election-renew-deadline": "1h", "leader-election-retry-period": "1",
		"analysis-allow-cidrs": "127.0.0.1", "analysis-deny-cidrs": "10.0.0.0/33",
		"allow-unconfined-jobs": "perhaps", "allow-ingress-annotations": "a b/*", "gateway-route-namespaces": "My Shop", "gateway-status-timeout": "-1s", "alb-verify-weight": "perhaps", "aws-verify-target-group": "perhaps",
		"metrics-secure": "perhaps", "metrics-cert-dir": "/nowhere", "plugin-dir": "/dev/null",
		"istio-api-version": "v2", "ambassador-api-version": "v1", "traffic-split-api-version": "v1beta1",
		"loglevel": "loud", "logformat": "xml", "kloglevel": "11", "qps": "-1", "burst": "80",
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(`{clusters: [{name: a, cluster: {server: "https://127.0.0.1:1"}}],
		contexts: [{name: a, context: {cluster: a}}], current-context: a}`), 0o600); err != nil {
		t.Fatal(err)
	}
	newCommand().Flags().VisitAll(func(f *pflag.Flag) {
		value, ok := bad[f.Name]
		if _, isRefused := f.Value.(refused); isRefused {
			value, ok = "this", true // which the sentence says
		}
		if !ok {
			t.Errorf("--%s takes everything", f.Name)
			return
		}
		cmd := newCommand()
		cmd.SetArgs([]string{"--kubeconfig=" + kubeconfig, "--namespace=shop", "--" + f.Name + "=" + value})
		err := cmd.ExecuteContext(t.Context())
		if !errors.As(err, new(*usageError)) {
			t.Errorf("status is not 2 for --%s=%s: %v", f.Name, value, err)
			return
		}
		if text := err.Error(); strings.Contains(text, "\n") || !strings.Contains(text, value) {
			t.Errorf("the error for --%s=%s has several lines, or does not say the value: %s", f.Name, value, text)
		}
	})
}

// The flags of the Argo Rollouts controller are accepted under their names, or rejected with what to do instead.
func TestUpstreamsFlags(t *testing.T) {
	for name, value := range map[string]string{
		"namespaced": "true", "instance-id": "a", "rollout-resync": "900", "loglevel": "info", "logformat": "json", "kloglevel": "0",
		"metricsPort": "8091", "metricsport": "8091", "healthzPort": "8081", "qps": "40", "rollout-threads": "10",
		"experiment-threads": "10", "analysis-threads": "30", "leader-elect": "true", "leader-election-lease-duration": "15s",
		"leader-election-renew-deadline": "10s", "leader-election-retry-period": "2s", "enable-pprof-address": "127.0.0.1:6060",
		"kubeconfig": "x", "context": "y", "namespace": "z", "version": "true", "burst": "80",
		"istio-api-version": "v1alpha3", "ambassador-api-version": "getambassador.io/v3alpha1", "alb-verify-weight": "true", "aws-verify-target-group": "true", "traffic-split-api-version": "v1alpha2",
	} {
		if err := newCommand().ParseFlags([]string{"--" + name + "=" + value}); err != nil {
			t.Errorf("--%s=%s: %v", name, value, err)
		}
	}
	for _, name := range []string{
		"service-threads", "ingress-threads", "ephemeral-metadata-threads", "ephemeral-metadata-update-pod-retries",
		"aws-target-group-binding-api-version", "alb-tag-key-resource-id", "traefik-api-group", "traefik-api-version", "ingress-api-version", "appmesh-crd-version",
		"alb-ingress-classes", "nginx-ingress-classes",
		"self-service-notification-enabled", "controllers",
	} {
		if err := newCommand().ParseFlags([]string{"--" + name + "=x"}); err == nil || !strings.Contains(err.Error(), "this controller has no such flag: ") {
			t.Errorf("--%s is not refused with what to do: %v", name, err)
		}
	}
	cmd := newCommand()
	if err := cmd.ParseFlags([]string{"--metricsport=1", "--healthzPort=2"}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"metrics-port": 1, "healthz-port": 2} {
		if port, err := cmd.Flags().GetInt(name); err != nil || port != want {
			t.Errorf("--%s is %d (%v), want %d", name, port, err, want)
		}
	}
}

// What tenants wrote comes into the log escaped, in both formats, that of the client library too; and JSON stays the JSON that it is.
func TestTheLogSteersNoTerminal(t *testing.T) {
	const hostile = "y\x1b[31m\u202e:2\u009b\u200b\U000e0041"
	for _, format := range []string{"text", "json"} {
		var out bytes.Buffer
		log, err := newLogger(settings{logLevel: "info", logFormat: format}, &out)
		if err != nil {
			t.Fatal(err)
		}
		log.Info(hostile, "image", hostile, hostile, errors.New(hostile))
		klog.InfoS("seen", "image", hostile)
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != 2 || strings.ContainsFunc(out.String(), clean.IsHidden) {
			t.Errorf("%s: %q", format, lines)
		}
		for _, line := range lines {
			var fields map[string]any
			if format == "json" && (json.Unmarshal([]byte(line), &fields) != nil || fields["image"] != hostile) {
				t.Errorf("the line says %v, want the image %q:\n%s", fields, hostile, line)
			}
		}
	}
}

func TestVersionIsPrinted(t *testing.T) {
	cmd := newCommand()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"--version"})
	if err := cmd.ExecuteContext(context.Background()); err != nil || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("printed %q (%v)", out.String(), err)
	}
}
