package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/cli/live"
	"github.com/sluice-delivery/sluice/internal/view"
)

func (a *app) listCommand() *cobra.Command {
	return a.group("list", "List rollouts or experiments", a.listRolloutsCommand(), a.listExperimentsCommand())
}

func (a *app) listRolloutsCommand() *cobra.Command {
	l := listing{app: a, kind: rollouts}
	cmd := &cobra.Command{
		Use:     "rollouts",
		Aliases: []string{"ro", "rollout"},
		Short:   "List the rollouts of a namespace",
		Long: `Lists the rollouts of a namespace, or of all.

With -w it goes on until Ctrl-C, with a line whenever one of them changes.`,
		Example: a.examples(`
			{} list rollouts
			{} list rollouts --all-namespaces
			{} list rollouts -w --timestamps`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return list(cmd, l, live.Client.RolloutList, rolloutColumns, a.rolloutCells)
		},
	}
	l.flags(cmd)
	cmd.Flags().BoolVarP(&l.watch, "watch", "w", false, "go on, with a line whenever one changes")
	cmd.Flags().BoolVar(&l.timestamps, "timestamps", false, "with -w: begin each line with the time")
	cmd.Flags().StringVar(&l.name, "name", "", "only the rollout of this name")
	return cmd
}

func (a *app) listExperimentsCommand() *cobra.Command {
	l := listing{app: a, kind: experiments}
	cmd := &cobra.Command{
		Use:     "experiments",
		Aliases: []string{"exp", "experiment"},
		Short:   "List the experiments of a namespace",
		Example: a.examples(`
			{} list experiments
			{} list experiments --all-namespaces`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return list(cmd, l, live.Client.ExperimentList, experimentColumns, a.experimentCells)
		},
	}
	l.flags(cmd)
	return cmd
}

var rolloutColumns = []string{"NAME", "STRATEGY", "STATUS", "STEP", "SET-WEIGHT", "READY", "DESIRED", "UP-TO-DATE", "AVAILABLE"}

func (a *app) rolloutCells(ro *v1alpha1.Rollout) []string {
	r := view.Of(view.Objects{Rollout: ro}, a.clock.Now())
	step, weight := "-", "-"
	if r.Strategy == view.Canary {
		weight = fmt.Sprint(r.SetWeight)
		if len(r.Steps) > 0 {
			step = fmt.Sprintf("%d/%d", r.StepsDone, len(r.Steps))
		}
	}
	return []string{
		r.Name, string(r.Strategy), r.Status.Text, step, weight, fmt.Sprintf("%d/%d", r.Replicas.Ready, r.Replicas.Current),
		fmt.Sprint(r.Replicas.Desired), fmt.Sprint(r.Replicas.Updated), fmt.Sprint(r.Replicas.Available),
	}
}

var experimentColumns = []string{"NAME", "STATUS", "DURATION", "REMAINING", "AGE"}

func (a *app) experimentCells(exp *v1alpha1.Experiment) []string {
	e := view.ExperimentOf(view.Objects{Experiment: exp}, a.clock.Now())
	length, remaining := "-", "-"
	if e.Duration > 0 {
		length = view.Human(e.Duration)
	}
	if e.Run != nil && !e.Over() {
		remaining = view.Human(e.Run.Remaining())
	}
	return []string{e.Name, e.Status.Text, length, remaining, view.Age(e.Age)}
}
