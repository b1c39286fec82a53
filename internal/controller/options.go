package controller

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sluice-delivery/sluice/internal/metric/prometheus"
	"github.com/sluice-delivery/sluice/internal/metric/server"
)

// Validate says what is wrong with the options, by the flags that set them.
func (o Options) Validate() error {
	for _, threads := range []struct {
		flag   string
		number int
	}{
		{"--rollout-threads", o.RolloutThreads}, {"--experiment-threads", o.ExperimentThreads}, {"--analysis-threads", o.AnalysisThreads},
	} {
		if threads.number < 1 {
			return fmt.Errorf("%s %d: write 1 or more", threads.flag, threads.number)
		}
	}
	if o.RolloutResync <= 0 {
		return fmt.Errorf("--rollout-resync %d: write the seconds between two looks at every Rollout, 1 or more", int(o.RolloutResync.Seconds()))
	}
	if o.RouteTimeout < 0 {
		return fmt.Errorf("--gateway-status-timeout %s: write how long to wait, such as 1m, or 0 for not at all", o.RouteTimeout)
	}
	for _, port := range []struct {
		flag   string
		number int
	}{{"--metrics-port", o.MetricsPort}, {"--healthz-port", o.HealthzPort}} {
		if port.number < 0 || port.number > 65535 {
			return fmt.Errorf("%s %d: a port is between 1 and 65535, or 0 for none", port.flag, port.number)
		}
	}
	if o.LeaderElect && (o.RetryPeriod <= 0 || o.RenewDeadline <= o.RetryPeriod || o.LeaseDuration <= o.RenewDeadline) {
		return fmt.Errorf("--leader-election-lease-duration %s must be longer than --leader-election-renew-deadline %s, and that longer than --leader-election-retry-period %s",
			o.LeaseDuration, o.RenewDeadline, o.RetryPeriod)
	}
	if o.MetricsPort != 0 && o.MetricsPort == o.HealthzPort {
		return fmt.Errorf("--metrics-port and --healthz-port are both %d: give one of them another", o.MetricsPort)
	}
	for _, namespace := range []string{o.Namespace, o.OwnNamespace} {
		if problems := validation.IsDNS1123Label(namespace); namespace != "" && len(problems) > 0 {
			return fmt.Errorf("namespace %q: %s", namespace, problems[0])
		}
	}
	if o.LeaderElect && o.OwnNamespace == "" {
		return errors.New("--leader-elect needs a namespace for its lease: set $POD_NAMESPACE or --namespace")
	}
	if o.PprofAddress != "" {
		if _, _, err := net.SplitHostPort(o.PprofAddress); err != nil {
			return fmt.Errorf("--enable-pprof-address %q is not HOST:PORT, such as 127.0.0.1:6060", o.PprofAddress)
		}
	}
	if problems := validation.IsValidLabelValue(o.InstanceID); len(problems) > 0 {
		return fmt.Errorf("--instance-id %q cannot be the value of a label: %s", o.InstanceID, problems[0])
	}
	if info, err := os.Stat(o.PluginDir); err == nil && !info.IsDir() {
		return fmt.Errorf("--plugin-dir %q is not a directory", o.PluginDir)
	}
	if err := o.Policy.Check(); err != nil {
		return err
	}
	if err := o.validateMetrics(); err != nil {
		return err
	}
	return o.validateMeasurements()
}

// workers is how many workers namespaces share: 0, for none to share, where there is one namespace alone.
func (o Options) workers(threads int) int {
	if o.Namespace != "" {
		return 0
	}
	return threads
}

// validateMeasurements says what is wrong with the environment variables that measurements need.
func (o Options) validateMeasurements() error {
	if address := o.PrometheusAddress; address != "" {
		if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return fmt.Errorf("$%s %q is not a valid Prometheus URL: write http://HOST:PORT, or https://", prometheus.AddressVariable, address)
		}
	}
	if problems := validation.IsDNS1123Label(o.JobNamespace); o.JobNamespace != "" && len(problems) > 0 {
		return fmt.Errorf("$%s %q: %s", JobNamespaceVariable, o.JobNamespace, problems[0])
	}
	if _, err := o.reach(); err != nil {
		return err
	}
	if !o.jobsElsewhere() {
		return nil
	}
	_, err := o.jobCluster()
	return err
}

// reach says which addresses measurements may ask.
func (o Options) reach() (r server.Reach, err error) {
	if r.Allow, err = server.ParseRanges(o.AnalysisAllow); err != nil {
		return r, fmt.Errorf("--analysis-allow-cidrs: %w", err)
	}
	if r.Deny, err = server.ParseRanges(o.AnalysisDeny); err != nil {
		return r, fmt.Errorf("--analysis-deny-cidrs: %w", err)
	}
	return r, nil
}
