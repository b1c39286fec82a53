package cli

import "github.com/spf13/cobra"

func (a *app) abortCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "abort NAME...",
		Short: "Give an update up and return to the stable version",
		Long: `Gives an update up: all traffic returns to the stable version. The spec still asks for the new one, so the rollout counts as
degraded until the spec changes or the update is tried again with 'retry'.`,
		Example:           a.examples(`{} abort web`),
		Args:              named(true),
		ValidArgsFunction: a.completeRollouts,
		RunE:              a.patchEach(patch{status: fields{"abort": true}}, "aborted"),
	}
}

func (a *app) pauseCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "pause NAME...",
		Short: "Stop a rollout where it is",
		Long: `Stops a rollout where it is: no pods are added or removed and no step is taken, until 'promote', or until spec.paused is
taken away.`,
		Example:           a.examples(`{} pause web`),
		Args:              named(true),
		ValidArgsFunction: a.completeRollouts,
		RunE:              a.patchEach(patch{spec: fields{"paused": true}}, "paused"),
	}
}

func (a *app) retryCommand() *cobra.Command {
	return a.group("retry", "Try again what was aborted", &cobra.Command{
		Use:               "rollout NAME...",
		Aliases:           []string{"ro", "rollouts"},
		Short:             "Try an aborted update again, from its first step",
		Example:           a.examples(`{} retry rollout web`),
		Args:              named(true),
		ValidArgsFunction: a.completeRollouts,
		RunE:              a.patchEach(patch{status: fields{"abort": false}}, "retried"),
	})
}
