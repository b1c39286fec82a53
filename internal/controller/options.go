package controller

import "fmt"

// Validate says what is wrong with the options, by the flags that set them.
func (o Options) Validate() error {
	if o.RolloutThreads < 1 {
		return fmt.Errorf("--rollout-threads %d: write 1 or more", o.RolloutThreads)
	}
	if o.AnalysisThreads < 1 {
		return fmt.Errorf("--analysis-threads %d: write 1 or more", o.AnalysisThreads)
	}
	if o.RolloutResync <= 0 {
		return fmt.Errorf("--rollout-resync %d: write the seconds between two looks at every Rollout, 1 or more", int(o.RolloutResync.Seconds()))
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
	_, err := instanceSelector(o.InstanceID)
	return err
}
