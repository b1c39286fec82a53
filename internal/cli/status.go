package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-delivery/sluice/internal/cli/live"
	"github.com/sluice-delivery/sluice/internal/view"
)

func (a *app) statusCommand() *cobra.Command {
	var (
		watch   bool
		timeout time.Duration
	)
	cmd := &cobra.Command{
		Use:   "status NAME",
		Short: "Show the status of a rollout, and wait until it is healthy",
		Long: `Prints the status of a rollout whenever it changes, until the rollout is healthy or degraded. The command fails if the rollout is
degraded, or if --timeout passes first. With --watch=false, it prints the status once.`,
		Example: a.examples(`
			# In a pipeline, after the new version was applied
			{} status web --timeout 10m
			# Print the status once
			{} status web --watch=false`),
		Args:              rollouts.one,
		ValidArgsFunction: a.completeOne(rollouts),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect()
			if err != nil {
				return err
			}
			if watch {
				return a.waitForEnd(cmd.Context(), c, args[0], timeout)
			}
			ro, err := c.Rollout(cmd.Context(), args[0])
			if err != nil {
				return missing(cmd.Context(), c, args[0], err)
			}
			r := view.Of(view.Objects{Rollout: ro}, a.clock.Now())
			a.print("%s\n", phaseLine(r))
			return degraded(r)
		},
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", true, "watch until the rollout is healthy or degraded")
	cmd.Flags().DurationVarP(&timeout, "timeout", "t", 0, "time to wait before giving up; 0 waits forever")
	return cmd
}

func (a *app) waitForEnd(ctx context.Context, c live.Client, name string, timeout time.Duration) error {
	last := "the cluster has not answered"
	err := a.until(ctx, c, name, timeout, live.Client.FollowRollout, func(r view.Rollout) (bool, error) {
		if line := phaseLine(r); line != last {
			a.print("%s\n", line)
			last = line
		}
		return r.Status.Icon == view.IconHealthy, degraded(r)
	})
	if errors.Is(err, errLate) {
		return fmt.Errorf("rollout '%s' was not done after %s: %s", name, timeout, last)
	}
	return err
}

// phaseLine is the status as scripts read it.
func phaseLine(r view.Rollout) string {
	if r.Status.Message == "" {
		return r.Status.Text
	}
	return r.Status.Text + " - " + r.Status.Message
}

func degraded(r view.Rollout) error {
	if r.Status.Icon != view.IconDegraded {
		return nil
	}
	return fmt.Errorf("rollout '%s' is degraded: %s", r.Name, r.Status.Message)
}
