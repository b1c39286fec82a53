package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/cli/live"
)

func (a *app) abortCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "abort NAME...",
		Short: "Abort an update and return to the stable version",
		Long: `Aborts an update: all traffic returns to the stable version. The spec still describes the new version, so the rollout is degraded
until you change the spec or retry the update with 'retry'.`,
		Example:           a.examples(`{} abort web`),
		Args:              rollouts.some,
		ValidArgsFunction: a.completeSome(rollouts),
		RunE: func(cmd *cobra.Command, names []string) error {
			return a.each(cmd, names, steer(abortOf))
		},
	}
}

// steer writes what a command asks for to the rollout as it is now, or says why there is nothing to write.
func steer(how func(*v1alpha1.Rollout) (p patch, result string)) func(context.Context, live.Client, string) (string, error) {
	return func(ctx context.Context, c live.Client, name string) (string, error) {
		ro, err := c.Rollout(ctx, name)
		if err != nil {
			return "", err
		}
		p, result := how(ro)
		return fmt.Sprintf("rollout '%s' %s", name, result), p.send(ctx, c, rollouts, name)
	}
}

func abortOf(ro *v1alpha1.Rollout) (patch, string) {
	switch {
	case ro.Status.Abort:
		return patch{}, "is aborted already"
	case observed(ro) && ro.Status.CurrentPodHash == ro.Status.StableRS:
		return patch{}, "has no update to abort"
	}
	return patch{status: fields{"abort": true}}, "aborted"
}

func retryOf(ro *v1alpha1.Rollout) (patch, string) {
	if !ro.Status.Abort {
		return patch{}, "is not aborted: there is nothing to retry"
	}
	return patch{status: fields{"abort": false}}, "retried"
}

// observed reports whether the status is of the spec as it is now: an update may be about to begin.
func observed(ro *v1alpha1.Rollout) bool {
	return ro.Status.ObservedGeneration == strconv.FormatInt(ro.Generation, 10)
}

func (a *app) pauseCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "pause NAME...",
		Short:             "Pause a rollout",
		Long:              `Pauses a rollout: no pods are added or removed, and no step starts, until you run 'promote' or remove spec.paused.`,
		Example:           a.examples(`{} pause web`),
		Args:              rollouts.some,
		ValidArgsFunction: a.completeSome(rollouts),
		RunE:              a.patchEach(rollouts, patch{spec: fields{"paused": true}}, "paused"),
	}
}

func (a *app) retryCommand() *cobra.Command {
	return a.group("retry", "Try again what was aborted or has failed",
		&cobra.Command{
			Use:               rollouts.noun + " NAME...",
			Aliases:           rollouts.aliases,
			Short:             "Retry an aborted update from its first step",
			Example:           a.examples(`{} retry rollout web`),
			Args:              rollouts.some,
			ValidArgsFunction: a.completeSome(rollouts),
			RunE: func(cmd *cobra.Command, names []string) error {
				return a.each(cmd, names, steer(retryOf))
			},
		},
		&cobra.Command{
			Use:               experiments.noun + " NAME...",
			Aliases:           experiments.aliases,
			Short:             "Run a finished experiment again",
			Long:              `Runs an experiment again from the beginning. The results of its last run are discarded.`,
			Example:           a.examples(`{} retry experiment compare`),
			Args:              experiments.some,
			ValidArgsFunction: a.completeSome(experiments),
			RunE: func(cmd *cobra.Command, names []string) error {
				return a.each(cmd, names, func(ctx context.Context, c live.Client, name string) (string, error) {
					// Not through the subresource: Experiments have none.
					return fmt.Sprintf("experiment '%s' retried", name), merge(ctx, c, experiments, name, fields{"status": nil})
				})
			},
		})
}

func (a *app) terminateCommand() *cobra.Command {
	terminate := func(k kind, short, long string) *cobra.Command {
		return &cobra.Command{
			Use:               k.noun + " NAME...",
			Aliases:           k.aliases,
			Short:             short,
			Long:              long,
			Example:           a.examples(`{} terminate ` + k.noun + ` NAME`),
			Args:              k.some,
			ValidArgsFunction: a.completeSome(k),
			RunE:              a.patchEach(k, patch{spec: fields{"terminate": true}}, "terminated"),
		}
	}
	return a.group("terminate", "End an analysis or an experiment early",
		terminate(analysisRuns, "End an analysis run early",
			`Stops an analysis run. Its result is that of the measurements so far.`),
		terminate(experiments, "End an experiment early",
			`Stops an experiment: its analyses end, and its pods are deleted.`))
}
