package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sluice-delivery/sluice/internal/controller"
)

// A mistake in how the program is called is one line that names the flag, its value and the remedy, and status 2.
func TestMistakesOnTheCommandLine(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"an argument":                {[]string{"run"}, []string{`"run"`, "flags only"}},
		"a flag that is not there":   {[]string{"--rollouts"}, []string{"unknown flag: --rollouts"}},
		"a level that is not there":  {[]string{"--loglevel=loud"}, []string{`--loglevel "loud"`, "debug, info, warn and error"}},
		"a format":                   {[]string{"--logformat=xml"}, []string{`--logformat "xml"`, "text nor json"}},
		"the library's verbosity":    {[]string{"--kloglevel=11"}, []string{"--kloglevel 11"}},
		"a collector":                {[]string{"--otlp-endpoint=collector:4317"}, []string{`--otlp-endpoint "collector:4317"`, "http://HOST:PORT"}},
		"no cluster":                 {[]string{"--kubeconfig=/nowhere"}, []string{"find the cluster", "/nowhere"}},
		"upstream's --alb-ingress":   {[]string{"--alb-ingress-classes=alb"}, []string{"--alb-ingress-classes", "no such traffic router"}},
		"upstream's without a value": {[]string{"--self-service-notification-enabled"}, []string{"sends no notifications"}},
		"upstream's workers":         {[]string{"--service-threads=3"}, []string{"--rollout-threads"}},
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
		"--rollout-threads 0":         func(o *controller.Options) { o.RolloutThreads = 0 },
		"--experiment-threads -1":     func(o *controller.Options) { o.ExperimentThreads = -1 },
		"--analysis-threads 0":        func(o *controller.Options) { o.AnalysisThreads = 0 },
		"--rollout-resync 0":          func(o *controller.Options) { o.RolloutResync = 0 },
		"--metrics-port 70000":        func(o *controller.Options) { o.MetricsPort = 70000 },
		"--healthz-port -1":           func(o *controller.Options) { o.HealthzPort = -1 },
		"must be longer than":         func(o *controller.Options) { o.RenewDeadline = time.Minute },
		"$POD_NAMESPACE":              func(o *controller.Options) { o.OwnNamespace = "" },
		`--enable-pprof-address "me"`: func(o *controller.Options) { o.PprofAddress = "me" },
		`instance ID "a b"`:           func(o *controller.Options) { o.InstanceID = "a b" },
	} {
		o := good
		spoil(&o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error that says %s, got %v", want, err)
		}
	}
}

// Flags of upstream's manifests are taken as they are.
func TestUpstreamsNames(t *testing.T) {
	cmd := newCommand()
	if err := cmd.ParseFlags([]string{
		"--metricsport=1", "--healthzPort=2", "--namespaced", "--instance-id=a", "--rollout-resync=60", "--loglevel=debug", "--logformat=json",
		"--kloglevel=4", "--qps=40", "--burst=80", "--rollout-threads=5", "--experiment-threads=6", "--analysis-threads=7", "--leader-elect=false",
		"--leader-election-lease-duration=30s", "--leader-election-renew-deadline=20s", "--leader-election-retry-period=1s",
		"--enable-pprof-address=127.0.0.1:6060", "--kubeconfig=x", "--context=y", "--namespace=z", "--version",
	}); err != nil {
		t.Fatal(err)
	}
	if port, err := cmd.Flags().GetInt("metrics-port"); err != nil || port != 1 {
		t.Errorf("--metricsport is %d (%v)", port, err)
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
