package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sluice-delivery/sluice/internal/cli/act"
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
			return a.each(cmd, names, a.signed("aborted", act.Steer(act.Abort)))
		},
	}
}

func (a *app) pauseCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "pause NAME...",
		Short:             "Pause a rollout",
		Long:              `Pauses a rollout: no pods are added or removed, and no step starts, until you run 'promote' or remove spec.paused.`,
		Example:           a.examples(`{} pause web`),
		Args:              rollouts.some,
		ValidArgsFunction: a.completeSome(rollouts),
		RunE: func(cmd *cobra.Command, names []string) error {
			return a.each(cmd, names, a.signed("paused", patched(act.Patch{Spec: act.Fields{"paused": true}}, "paused")))
		},
	}
}

func (a *app) retryCommand() *cobra.Command {
	return a.group("retry", "Retry an aborted update or a failed experiment",
		&cobra.Command{
			Use:               rollouts.noun + " NAME...",
			Aliases:           rollouts.aliases,
			Short:             "Retry an aborted update from its first step",
			Example:           a.examples(`{} retry rollout web`),
			Args:              rollouts.some,
			ValidArgsFunction: a.completeSome(rollouts),
			RunE: func(cmd *cobra.Command, names []string) error {
				return a.each(cmd, names, a.signed("retried", act.Steer(act.Retry)))
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
					return fmt.Sprintf("experiment '%s' retried", name), act.Merge(ctx, c, experiments.resource, name, act.Fields{"status": nil})
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
			RunE:              a.patchEach(k, act.Patch{Spec: act.Fields{"terminate": true}}, "terminated"),
		}
	}
	return a.group("terminate", "End an analysis or an experiment early",
		terminate(analysisRuns, "End an analysis run early",
			`Stops an analysis run. Its result is that of the measurements so far.`),
		terminate(experiments, "End an experiment early",
			`Stops an experiment: its analyses end, and its pods are deleted.`))
}
